#include "profiler/sampling/native_stacks.h"

#include <algorithm>
#include <ranges>
#include <utility>

namespace hangdbg {
namespace {

constexpr int kNamesShare = 20;
// What was kept of values and libraries is asked for again.
constexpr auto kForgetAfter = std::chrono::seconds(1);

ProfilePlace native_place(const NativeSymbol& symbol, bool whole_functions) {
  const bool named = !symbol.function.empty() || !symbol.builtin.empty();
  return {.function = named ? symbol.name() : "no symbol",
          .file = !symbol.file.empty()     ? symbol.file
                  : !symbol.module.empty() ? symbol.module
                                           : "no module",
          .line = whole_functions ? 0 : symbol.line};
}

// How many of the innermost frames are shown: all, or a task's own.
std::size_t own_frames(const NativeStacks::Unnamed& one) {
  const auto& frames = one.stack.frames;
  const auto root = one.outside ? std::ranges::find(frames, one.outside->root,
                                                    &PythonFrame::address)
                                : frames.end();
  return root == frames.end()
             ? frames.size()
             : static_cast<std::size_t>(root - frames.begin()) + 1;
}

std::vector<ProfilePlace> places_of(const MergedStack& merged,
                                    const NativeStacks::Unnamed& one,
                                    bool whole_functions) {
  const PythonStack& python = one.stack;
  const std::size_t own = own_frames(one);
  std::vector<ProfilePlace> places;
  if (!merged.merged) {
    for (const PythonFrame& frame :
         std::views::reverse(std::views::take(python.frames, own))) {
      places.push_back(python_place(frame, whole_functions));
    }
    places.push_back({.function = "unknown", .file = "C stack"});
    return places;
  }
  bool inside = own == python.frames.size();
  for (const StackEntry& entry : std::views::reverse(merged.entries)) {
    inside |= entry.kind == StackEntry::Kind::Python && entry.frame + 1 == own;
    if (!inside) {
      continue;  // what runs the task
    }
    places.push_back(
        entry.kind == StackEntry::Kind::Python
            ? python_place(python.frames[entry.frame], whole_functions)
            : native_place(entry.native, whole_functions));
  }
  return places;
}

}  // namespace

NativeStacks::NativeStacks(PythonProcess& process)
    : process_(process), target_(process), dump_(target_) {}

std::size_t NativeStacks::take(std::uint32_t thread,
                               PythonStack stack,
                               std::optional<Outside> outside) {
  stack.exact = true;
  dump_->unwind(stack);
  unnamed_.push_back({thread, std::move(stack), std::move(outside)});
  return unnamed_.size() - 1;
}

void NativeStacks::add(std::size_t number,
                       std::uint64_t at,
                       std::uint64_t weight,
                       const std::string& wait) {
  auto& runs = unnamed_[number].runs;
  if (!runs.empty() && runs.back().first + runs.back().length == at &&
      runs.back().wait == wait) {
    runs.back().length += weight;
  } else {
    runs.push_back({.first = at, .length = weight, .wait = wait});
  }
}

void NativeStacks::tell_wait(std::size_t number, const std::string& wait) {
  for (Run& run : unnamed_[number].runs) {
    run.wait = wait;
  }
}

void NativeStacks::name(bool whole_functions, const Place& place) {
  const auto began = Deadline::Clock::now();
  std::vector<const PythonStack*> stacks;
  for (const Unnamed& one : unnamed_) {
    stacks.push_back(&one.stack);
  }
  const auto merged = dump_->merge(stacks);
  bool complete = true;
  for (std::size_t i = 0; i < merged.size(); ++i) {
    complete &= merged[i].complete;
    place(unnamed_[i], places_of(merged[i], unnamed_[i], whole_functions));
  }
  unnamed_.clear();
  if (forget_.expired()) {
    dump_->forget_values();
    if (!complete) {
      renew_maps();
    }
    forget_ = Deadline::in(kForgetAfter);
  }
  next_ = Deadline::in((Deadline::Clock::now() - began) * kNamesShare);
}

void NativeStacks::renew_maps() {
  auto maps = read_maps(process_.pid);
  if (!maps) {
    return;
  }
  process_.maps = *std::move(maps);
  auto modules = find_modules(process_.maps);
  const auto same = [](const Module& a, const Module& b) {
    return a.base == b.base && a.end == b.end && a.path == b.path;
  };
  // Not with stacks that wait: they are numbered by the old ones.
  if (unnamed_.empty() &&
      !std::ranges::equal(modules, process_.modules, same)) {
    const Address python = process_.modules[process_.python.module].base;
    process_.modules = std::move(modules);
    const auto again =
        std::ranges::find(process_.modules, python, &Module::base);
    process_.python.module =
        static_cast<std::size_t>(again - process_.modules.begin());
    dump_.emplace(target_);
  }
}

}  // namespace hangdbg
