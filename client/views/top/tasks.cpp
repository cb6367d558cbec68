// The rows of `top` that are asyncio's tasks.
#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/views/top/rows.h"

namespace hangdbg {
namespace {

constexpr std::string_view kTaskPrefix = "task ";  // SampledProcess::task_root

// Of all stacks below a task.
struct TaskSum {
  std::uint64_t recent = 0, ever = 0;
  std::uint32_t hottest = 0;  // where the one with the most samples ends
};

std::map<std::uint32_t, TaskSum> sums_of_tasks(const TopData& data) {
  std::map<std::uint32_t, TaskSum> sums;
  std::vector<std::uint32_t> task_of(data.nodes.size());  // 0: of none
  // A node is made after its parent.
  for (std::uint32_t i = 1; i < data.nodes.size(); ++i) {
    task_of[i] = is_task(data, i) ? i : task_of[data.nodes[i].parent];
    if (task_of[i] == 0 || data.nodes[i].own == 0) {
      continue;
    }
    TaskSum& sum = sums[task_of[i]];
    sum.recent += data.recent[i];
    sum.ever += data.nodes[i].own;
    if (sum.hottest == 0 ||
        std::pair(data.recent[i], data.nodes[i].own) >
            std::pair(data.recent[sum.hottest], data.nodes[sum.hottest].own)) {
      sum.hottest = i;
    }
  }
  return sums;
}

// By their names: a process and a thread are above each task.
std::map<std::pair<std::string, std::string>, std::uint32_t> threads_by_name(
    const TopData& data) {
  std::map<std::pair<std::string, std::string>, std::uint32_t> threads;
  for (std::uint32_t i = 0; i < data.threads.size(); ++i) {
    if (data.threads[i].task == 0) {
      threads[{data.threads[i].process, thread_label(data.threads[i])}] = i;
    }
  }
  return threads;
}

}  // namespace

std::vector<TopTaskRow> top_tasks(const TopData& data) {
  const double units =
      std::chrono::duration<double>(data.window).count() * data.rate;
  const auto threads = threads_by_name(data);
  const auto name_of = [&](std::uint32_t node) {
    return data.places[data.nodes[node].place].function;
  };
  std::vector<TopTaskRow> rows;
  for (const auto& [node, sum] : sums_of_tasks(data)) {
    const std::uint32_t above = data.nodes[node].parent;
    TopTaskRow row{
        .node = node,
        .label = name_of(node),
        .share = units > 0 ? static_cast<double>(sum.recent) / units * 100 : 0,
        .share_s = static_cast<double>(sum.ever) / data.rate,
        .where = place_label(data, sum.hottest)};
    if (row.label.starts_with(kTaskPrefix)) {
      row.label.erase(0, kTaskPrefix.size());
    }
    const auto thread =
        threads.find({name_of(data.nodes[above].parent), name_of(above)});
    if (thread != threads.end()) {
      row.thread = thread->second;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<ProfilePlace> hottest_stack(const TopData& data,
                                        std::uint32_t task) {
  const auto sums = sums_of_tasks(data);
  const auto sum = sums.find(task);
  return sum == sums.end() ? std::vector<ProfilePlace>()
                           : stack_at(data, sum->second.hottest);
}

}  // namespace hangdbg
