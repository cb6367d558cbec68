#include "inspector/snapshot/native_dump.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace hangdbg {
namespace {

constexpr auto kNativeDumpPatience = std::chrono::seconds(1);

// A builtin's own frame and those that may be between it and the eval loop.
constexpr std::size_t kFramesOfCall = 4;

// Of a stack, in bytes.
constexpr std::uint64_t kMostSearched = 1U << 18;

// Python frames that C was called from, of which the values are looked at.
constexpr std::size_t kMostCallers = 8;

}  // namespace

NativeDump::NativeDump(const Target& target)
    : subject_(target),
      unwinder_(target.memory, target.modules),
      names_(target.files, target.memory, target.modules),
      builtins_(std::in_place, target) {}

Status NativeDump::copy(const Registers& registers) {
  copy_ = TRY(copy_stack(subject_.memory, subject_.maps, registers));
  return {};
}

void NativeDump::unwind(const PythonStack& python) {
  const StackCopy copy = std::exchange(copy_, {});
  NativeStack stack;
  if (python.exact) {
    if (auto unwound =
            unwinder_.unwind(copy, Deadline::in(kNativeDumpPatience))) {
      stack = *std::move(unwound);
    }
  }
  builtin_names_.push_back(find_builtins(stack, copy, python));
  stacks_.push_back(std::move(stack));
}

std::vector<MergedStack> NativeDump::merge(
    const std::vector<const PythonStack*>& python) {
  names_.learn(stacks_);
  std::vector<MergedStack> merged;
  for (std::size_t i = 0; i < python.size() && i < stacks_.size(); ++i) {
    auto frames = named(stacks_[i], names_, subject_.python.module);
    for (auto& [frame, name] : builtin_names_[i]) {
      frames[frame].symbol.builtin = std::move(name);
    }
    merged.push_back(merge_stacks(frames, stacks_[i].complete, *python[i]));
  }
  stacks_.clear();
  builtin_names_.clear();
  return merged;
}

// The interpreter alone calls builtins.
std::map<std::size_t, std::string> NativeDump::find_builtins(
    const NativeStack& stack,
    const StackCopy& copy,
    const PythonStack& python) {
  std::vector<Builtin> values;
  std::size_t callers = 0;
  for (std::size_t i = 0; i < python.frames.size() && callers < kMostCallers;
       ++i) {
    if (i == 0 || python.frames[i - 1].entry) {
      ++callers;
      std::ranges::copy(builtins_->among_values(python.frames[i].address),
                        std::back_inserter(values));
    }
  }
  std::map<std::size_t, std::string> found;
  if (stack.frames.empty()) {
    return found;
  }
  const Address top = stack.frames.front().sp;
  const auto word = [top](const NativeFrame& frame) {
    return (frame.sp - top) / 8;
  };
  const auto saved = builtins_->among(
      copy.words(top, std::min(stack.frames.back().sp, top + kMostSearched)));
  for (std::size_t i = 0; i + 1 < stack.frames.size(); ++i) {
    if (stack.frames[i + 1].module != subject_.python.module) {
      continue;
    }
    const auto last = std::min(i + kFramesOfCall, stack.frames.size() - 1);
    const auto first_saved = std::ranges::lower_bound(
        saved, word(stack.frames[i]), {}, &Builtin::word);
    // A signal's stack may lie below.
    const auto last_saved = std::max(
        first_saved, std::ranges::lower_bound(saved, word(stack.frames[last]),
                                              {}, &Builtin::word));
    const Address function = function_start(stack.frames[i]);
    auto name = name_of({first_saved, last_saved}, function);
    if (!name) {
      name = name_of(values, function);
    }
    if (name) {
      found.emplace(i, *std::move(name));
    }
  }
  return found;
}

Address NativeDump::function_start(const NativeFrame& frame) {
  const auto [at, is_new] = functions_.try_emplace(frame.code());
  if (is_new) {
    at->second =
        unwinder_.function_at(frame.code()).value_or(AddressRange{}).start;
  }
  return at->second;
}

}  // namespace hangdbg
