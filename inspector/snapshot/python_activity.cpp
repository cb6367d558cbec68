#include "inspector/snapshot/python_activity.h"

namespace hangdbg {
namespace {

// Generators have one each, so it is no deeper than frames are.
constexpr int kMostHandlers = 100'000;

constexpr std::uint64_t kMostThreadState = 4096;  // it has 880 bytes, or less

// None stands for "no exception" as well as null does.
bool is_exception(const ObjectReader& objects, Address value) {
  const auto type = value ? objects.type_of(value)
                          : fail(ErrorId::Unreadable, "no exception");
  return type && (*type)->kind != Kind::None;
}

}  // namespace

std::optional<Address> handled_exception(const ObjectReader& objects,
                                         Address thread_state) {
  if (objects.at().thread_handled_value != ObjectLayout::kAbsent) {
    const auto value =
        objects.pointer(thread_state + objects.at().thread_handled_value);
    return value && is_exception(objects, *value) ? std::optional(*value)
                                                  : std::nullopt;
  }
  if (objects.at().thread_exception == ObjectLayout::kAbsent) {
    return {};
  }
  auto handler = objects.pointer(thread_state + objects.at().thread_exception);
  std::optional<Address> found;
  for (int i = 0; handler && *handler && i < kMostHandlers; ++i) {
    const auto value = objects.pointer(*handler + objects.at().handled_value);
    const auto before = objects.pointer(*handler + objects.at().handled_before);
    if (!value || !before) {
      return {};
    }
    if (!found && is_exception(objects, *value)) {
      found = *value;
    }
    // The last is the thread's own: else that was no such list.
    if (!*before && *handler - thread_state >= kMostThreadState) {
      return {};
    }
    handler = before;
  }
  return found;
}

bool collects_garbage(const ObjectReader& objects,
                      const PythonRuntime& python,
                      Address interpreter) {
  const ObjectLayout& at = objects.at();
  const Address word = at.runtime_collecting != ObjectLayout::kAbsent
                           ? python.runtime + at.runtime_collecting
                       : at.interpreter_collecting != ObjectLayout::kAbsent
                           ? interpreter + at.interpreter_collecting
                           : python.collecting;
  const auto collecting = objects.memory().read_value<std::int32_t>(word);
  return collecting && *collecting == 1;
}

}  // namespace hangdbg
