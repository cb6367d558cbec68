// The lock of a module that another thread imports (importlib._bootstrap).
#include <fmt/core.h>

#include "base/text.h"
#include "diagnosis/causes/causes.h"

namespace hangdbg::causes {

Found import_lock(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
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
    return std::nullopt;  // it is just being released
  }
  const ThreadSnapshot* const holder =
      of.by_ident(static_cast<std::uint64_t>(*owner));
  Cause cause{.id = CauseId::ImportLock,
              .progress = Progress::Blocked,
              .confidence = Confidence::Certain};
  cause.evidence.push_back(thread.place());
  if (holder == nullptr) {
    cause.progress = Progress::Stuck;
    cause.summary = fmt::format(
        "waits until module '{}' is imported, by a thread that is not here",
        module);
    cause.evidence.push_back(
        "the module's lock names an owner that is no thread of this process");
    return cause;
  }
  cause.summary = fmt::format("waits until {} has imported module '{}'",
                              holder->who(), module);
  cause.blocked_by.push_back(holder->id);
  cause.blocks_others = true;
  return cause;
}

}  // namespace hangdbg::causes
