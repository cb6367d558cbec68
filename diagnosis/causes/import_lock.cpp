// The lock of a module that another thread imports (importlib._bootstrap).
#include <fmt/core.h>

#include "base/text.h"
#include "diagnosis/causes/causes.h"

namespace hangdbg::causes {

Found import_lock(const Case& of, const CaseThread& thread) {
  const PythonFrame* const frame =
      of.is_python() ? thread.find("acquire", "importlib._bootstrap>", 3)
                     : nullptr;
  if (frame == nullptr) {
    return std::nullopt;
  }
  const std::string module =
      printable(of.text(*frame, "self.name").value_or("?"));
  const auto owner = of.number(*frame, "self.owner");
  if (!owner) {
    return std::nullopt;  // it is just let go of
  }
  const CaseThread* const holder =
      of.by_ident(static_cast<std::uint64_t>(*owner));
  Cause cause{.id = CauseId::ImportLock,
              .standing = Standing::Waits,
              .confidence = Confidence::Certain};
  cause.evidence.push_back(thread.place());
  if (holder == nullptr) {
    cause.standing = Standing::Stuck;
    cause.sentence = fmt::format(
        "waits until module '{}' is imported, by a thread that is not here",
        module);
    cause.evidence.push_back(
        "the module's lock names an owner that is no thread of this process");
    return cause;
  }
  cause.sentence = fmt::format("waits until {} has imported module '{}'",
                               holder->who(), module);
  cause.behind.push_back(holder->id);
  cause.held = true;
  return cause;
}

}  // namespace hangdbg::causes
