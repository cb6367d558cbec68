#include "inspector/native_dump.h"

#include <utility>

namespace hangdbg {
namespace {

constexpr auto kPatience = std::chrono::seconds(1);

}  // namespace

NativeDump::NativeDump(const InspectedProcess& process)
    : process_(process),
      unwinder_(process.memory, process.modules),
      names_(process.pid, process.memory, process.modules) {}

Status NativeDump::copy(const Attachment* stopped, const TaskSyscall& call) {
  copy_ = TRY(copy_stack(process_.memory, process_.maps, stopped, call));
  return {};
}

void NativeDump::unwind(bool exact) {
  const StackCopy copy = std::exchange(copy_, {});
  NativeStack stack;
  if (exact) {
    if (auto unwound = unwinder_.unwind(copy, Deadline::in(kPatience))) {
      stack = *std::move(unwound);
    }
  }
  stacks_.push_back(std::move(stack));
}

std::vector<MergedStack> NativeDump::merge(
    const std::vector<const PythonStack*>& python) {
  names_.learn(stacks_);
  std::vector<MergedStack> merged;
  for (std::size_t i = 0; i < python.size() && i < stacks_.size(); ++i) {
    merged.push_back(
        merge_stacks(named(stacks_[i], names_, process_.python.module),
                     stacks_[i].complete, *python[i]));
  }
  return merged;
}

}  // namespace hangdbg
