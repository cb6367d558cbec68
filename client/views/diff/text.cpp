#include "client/views/diff/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostFrames = 6;  // of each side, after they diverge

std::string title_of(std::string_view letter,
                     const Side& side,
                     const Palette& out);
std::string facts_text(const Comparison& found,
                       bool diagnosis,
                       const Palette& out);
std::string fact_text(const FactDifference& one, const Palette& out);
std::string stacks_text(const Comparison& found, const Palette& out);
std::string frames_text(
    std::string_view letter,
    const std::optional<std::vector<reports::DumpedFrame>>& frames,
    bool parted,
    const Palette& out);
std::string frame_text(const reports::DumpedFrame& frame);
std::string of_ranks(const RankSet& ranks);

}  // namespace

std::string comparison_text(const Side& a,
                            const Side& b,
                            const Comparison& found,
                            const Palette& out) {
  std::string text = title_of("A", a, out) + title_of("B", b, out);
  for (const auto& [letter, ranks] :
       {std::pair("A", &found.only_in_a), {"B", &found.only_in_b}}) {
    if (!ranks->empty()) {
      text +=
          out.red(fmt::format("only in {}: rank {}", letter, ranks->text(12))) +
          "\n";
    }
  }
  text += facts_text(found, true, out);
  text += stacks_text(found, out);
  text += facts_text(found, false, out);
  if (found.equal()) {
    text += "nothing differs\n";
  }
  if (!found.not_compared.empty()) {
    std::string groups;
    for (const std::string& group : found.not_compared) {
      groups += (groups.empty() ? "" : ", ") + group;
    }
    text += out.dim("on one side only, not compared: " + groups) + "\n";
  }
  return text;
}

namespace {

std::string title_of(std::string_view letter,
                     const Side& side,
                     const Palette& out) {
  std::string what;
  if (side.report.job) {
    what = fmt::format("job {}, {} ranks", printable(side.report.job->id),
                       side.processes.size());
  } else if (side.processes.size() == 1) {
    const reports::DumpedProcess& only = side.processes.front();
    what = fmt::format(
        "process {}{}{}", only.pid,
        only.host.empty() ? "" : " on " + printable(only.host),
        only.cmdline ? ", " + printable(shell_quote(*only.cmdline)) : "");
  } else {
    what = fmt::format("{} processes", side.processes.size());
  }
  return fmt::format("{}  {} · {}\n", out.bold(letter), printable(side.path),
                     what);
}

std::string facts_text(const Comparison& found,
                       bool diagnosis,
                       const Palette& out) {
  std::string text;
  std::string_view last;
  for (const FactDifference& one : found.facts) {
    if ((one.group == "diagnosis") != diagnosis) {
      continue;
    }
    if (one.group != last) {
      text += out.bold(printable(one.group)) + "\n";
      last = one.group;
    }
    text += fact_text(one, out);
  }
  return text;
}

std::string fact_text(const FactDifference& one, const Palette& out) {
  const std::string name = printable(one.name) + of_ranks(one.ranks);
  if (!one.a || !one.b) {
    return fmt::format("  {}: {}\n",
                       out.cyan(one.a ? "only in A" : "only in B"),
                       one.group == "unusual"
                           ? printable(one.a ? *one.a : *one.b)
                           : name + ", " + printable(one.a ? *one.a : *one.b));
  }
  return fmt::format("  {}\n    {} {}\n    {} {}\n", name, out.cyan("A"),
                     printable(*one.a), out.cyan("B"), printable(*one.b));
}

std::string stacks_text(const Comparison& found, const Palette& out) {
  if (found.stacks.empty()) {
    return {};
  }
  std::string text = out.bold("stacks") + "\n";
  for (const RankedStackDifference& one : found.stacks) {
    const StackDifference& stack = one.stack;
    text += fmt::format(
        "  {}{}{}\n", printable(stack.thread), of_ranks(one.ranks),
        stack.common ? ", both in " + frame_text(*stack.common) : "");
    const bool parted = stack.a && stack.b;
    text += frames_text("A", stack.a, parted, out);
    text += frames_text("B", stack.b, parted, out);
  }
  return text;
}

// The outermost first: there they diverge.
std::string frames_text(
    std::string_view letter,
    const std::optional<std::vector<reports::DumpedFrame>>& frames,
    bool parted,
    const Palette& out) {
  if (!frames) {
    return fmt::format("    {} has no such thread\n", out.cyan(letter));
  }
  if (frames->empty()) {
    return fmt::format("    {} {}\n", out.cyan(letter),
                       parted ? "ends here" : "has no frames");
  }
  std::string text;
  const auto add = [&](std::string_view words) {
    text +=
        fmt::format("    {} {}\n",
                    text.empty() ? out.cyan(letter) : std::string(" "), words);
  };
  const std::size_t count = frames->size();
  const std::size_t left_out = count > kMostFrames ? count - kMostFrames : 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (left_out > 0 && i == kMostFrames / 2) {
      add(fmt::format("... {} more", left_out));
      i += left_out;
    }
    add(frame_text((*frames)[count - 1 - i]));
  }
  return text;
}

std::string frame_text(const reports::DumpedFrame& frame) {
  const std::string name = printable(
      !frame.qualname.empty() ? frame.qualname : frame.builtin.value_or("?"));
  if (frame.module) {
    return fmt::format("{} ({})", name, printable(*frame.module));
  }
  return fmt::format("{} ({}:{})", name, printable(short_path(frame.file)),
                     frame.line.value_or(0));
}

std::string of_ranks(const RankSet& ranks) {
  return ranks.empty()
             ? ""
             : fmt::format(" of {} {}", ranks.size() == 1 ? "rank" : "ranks",
                           ranks.text(12));
}

}  // namespace
}  // namespace hangdbg
