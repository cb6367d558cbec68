#include "client/views/record/targets.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/text.h"
#include "client/terminal/render.h"
#include "inspector/cpython/runtime/python_process.h"
#include "tracee/proc/proc_file.h"
#include "tracee/proc/proc_list.h"
#include "tracee/proc/proc_tasks.h"

namespace hangdbg {
namespace {

// One that is no Python yet may become one, by exec; less and less likely.
constexpr auto kFirstPause = std::chrono::milliseconds(10);
constexpr int kMostDoublings = 8;
// To list all processes is to cost so small a part of the time.
constexpr int kChildrenShare = 50;
constexpr auto kChildrenPause = std::chrono::milliseconds(50);
constexpr std::size_t kLongestCommand = 60;

bool has_ended(int pid) {
  const auto stat = read_task_stat(pid, pid);
  return !stat || stat->state == 'Z' || stat->state == 'X';
}

std::string label_of(int pid, const std::string& given) {
  if (!given.empty()) {
    return given;
  }
  std::string command;
  for (const std::string& word : read_command_line(pid)) {
    command += (command.empty() ? "" : " ") + word;
  }
  if (command.size() > kLongestCommand) {
    command = to_utf8(command.substr(0, kLongestCommand)) + "...";
  }
  return fmt::format("process {} ({})", pid, command);
}

}  // namespace

RecordTargets::RecordTargets(Recording& recording,
                             const std::vector<RecordedTarget>& targets,
                             bool children,
                             const SamplingOptions& sampling)
    : recording_(recording), children_(children), sampling_(sampling) {
  for (const RecordedTarget& target : targets) {
    wanted_[target.pid].label = target.label;
  }
}

void RecordTargets::look() {
  if (children_ && next_children_.expired()) {
    find_children();
  }
  const std::vector<int> sampled = recording_.pids();
  std::erase_if(wanted_, [](const auto& one) { return has_ended(one.first); });
  for (auto& [pid, wanted] : wanted_) {
    if (std::ranges::find(sampled, pid) != sampled.end() ||
        !wanted.again.expired()) {
      continue;
    }
    if (const Status done = open(pid, wanted.label); done) {
      opened_ = true;
      wanted.failures = 0;
    } else {
      error_ = done.error();
      wanted.again = Deadline::in(kFirstPause * (1 << wanted.failures));
      wanted.failures = std::min(wanted.failures + 1, kMostDoublings);
    }
  }
}

void RecordTargets::find_children() {
  const auto began = Deadline::Clock::now();
  const auto children = children_by_parent();
  if (children) {
    std::vector<int> above;
    for (const auto& [pid, wanted] : wanted_) {
      above.push_back(pid);
    }
    while (!above.empty()) {
      const int parent = above.back();
      above.pop_back();
      const auto [first, last] = children->equal_range(parent);
      for (auto child = first; child != last; ++child) {
        if (wanted_.try_emplace(child->second).second) {
          above.push_back(child->second);
        }
      }
    }
  }
  const auto cost = Deadline::Clock::now() - began;
  next_children_ = Deadline::in(std::max<Deadline::Clock::duration>(
      cost * kChildrenShare, kChildrenPause));
}

Status RecordTargets::open(int pid, const std::string& label) {
  auto process = sampling_.native || sampling_.tasks ? TRY(open_process(pid))
                                                     : TRY(open_python(pid));
  recording_.add(std::make_unique<SampledProcess>(
      std::move(process), label_of(pid, label), sampling_));
  return {};
}

}  // namespace hangdbg
