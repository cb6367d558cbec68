#include "server/dap/native_frames.h"

#include <fmt/core.h>

#include <algorithm>
#include <ranges>
#include <span>
#include <string>
#include <utility>

#include "inspector/snapshot/process_dump.h"

namespace hangdbg {
namespace {

bool is_python(const StackEntry& entry) {
  return entry.kind == StackEntry::Kind::Python;
}

// Without what a suspended thread does for us, which is innermost.
std::span<const StackEntry> programs(const DumpedThread& thread,
                                     std::span<const StackEntry> entries) {
  const std::size_t ours = count_frames_of_agent(thread.stack.frames);
  auto rest = entries;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (is_python(entries[i]) && entries[i].frame < ours) {
      rest = entries.subspan(i + 1);
    }
  }
  if (rest.size() != entries.size()) {  // our C code, which has called ours
    const auto first = std::ranges::find_if(rest, is_python);
    rest = rest.subspan(static_cast<std::size_t>(first - rest.begin()));
  }
  return rest;
}

// A thread that was stepped out of a function is still inside its return.
std::span<const StackEntry> without_returned(
    std::span<const StackEntry> entries,
    std::size_t shown) {
  const auto count = std::ranges::count_if(entries, is_python);
  if (count != static_cast<std::ptrdiff_t>(shown) + 1) {
    return entries;
  }
  const auto first = std::ranges::find_if(entries, is_python);
  const auto next = std::find_if(std::next(first), entries.end(), is_python);
  return {next, entries.end()};
}

bool same_functions(const DumpedThread& thread,
                    std::span<const StackEntry> entries,
                    const std::vector<dap::StackFrame>& python) {
  auto seen = entries | std::views::filter(is_python) |
              std::views::transform([&](const StackEntry& entry) {
                return thread.stack.frames[entry.frame].function;
              });
  return std::ranges::equal(seen, python, {}, {}, &dap::StackFrame::name);
}

dap::StackFrame native_frame(const NativeSymbol& symbol,
                             OutOfProcessValues& numbers) {
  dap::StackFrame frame;
  frame.id = numbers.add({});
  frame.name = symbol.text();
  frame.presentation_hint = "subtle";
  if (!symbol.file.empty()) {
    frame.source =
        dap::Source{.name = symbol.file.substr(symbol.file.rfind('/') + 1),
                    .presentation_hint = "deemphasize"};
    if (symbol.file.starts_with('/')) {  // else relative to its build folder
      frame.source->path = symbol.file;
    }
    frame.line = symbol.line;
  }
  return frame;
}

dap::StackFrame label(std::string text, OutOfProcessValues& numbers) {
  dap::StackFrame frame;
  frame.id = numbers.add({});
  frame.name = std::move(text);
  frame.presentation_hint = "label";
  return frame;
}

}  // namespace

std::vector<dap::StackFrame> with_native_frames(
    const AttachTarget& target,
    std::int64_t thread,
    std::vector<dap::StackFrame> python,
    OutOfProcessValues& numbers) {
  DumpOptions options;
  options.native = true;
  const auto dumped =
      dump_thread(LiveTarget(target), static_cast<int>(thread), options);
  if (!dumped || dumped->error) {
    const Error& error = dumped ? *dumped->error : dumped.error();
    python.push_back(label("C functions: " + error.message, numbers));
    return python;
  }
  const auto all = dumped->entries();
  const auto entries = without_returned(programs(*dumped, all), python.size());
  const bool same = same_functions(*dumped, entries, python);
  const bool merged = same && dumped->merged && dumped->merged->merged;
  std::vector<dap::StackFrame> frames;
  if (!merged) {
    frames = std::move(python);
    frames.push_back(
        label(fmt::format("C functions, {}",
                          same ? dumped->merged->reason : "of a moment later"),
              numbers));
  }
  auto next = python.begin();
  for (const StackEntry& entry : entries) {
    if (!is_python(entry)) {
      frames.push_back(native_frame(entry.native, numbers));
    } else if (merged) {
      frames.push_back(std::move(*next++));
    }
  }
  return frames;
}

}  // namespace hangdbg
