#include "client/views/top/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string_view>

#include "base/text.h"
#include "client/views/record/formats.h"
#include "client/views/record/text.h"
#include "client/views/top/frame.h"
#include "client/views/top/table.h"

namespace hangdbg {
namespace {

constexpr std::size_t kTopShown = 20;
constexpr std::size_t kTopReported = 100;

std::string trimmed(const std::string& line) {
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

std::string table_text(const TopData& data,
                       TopView view,
                       std::size_t columns,
                       const Palette& palette) {
  const TopTable table = top_table(data, {.view = view});
  std::string text =
      palette.dim(trimmed(heading(table, table.columns.size(), columns))) +
      "\n";
  for (std::size_t i = 0; i < std::min(table.rows.size(), kTopShown); ++i) {
    text += trimmed(row_text(table, table.rows[i], columns)) + "\n";
  }
  if (table.rows.size() > kTopShown) {
    text += palette.dim(fmt::format("  ... and {} more",
                                    table.rows.size() - kTopShown)) +
            "\n";
  }
  return text;
}

std::vector<reports::TopPlace> places_of(const TopData& data, bool by_line) {
  auto places = top_places(data, {}, by_line);
  std::ranges::stable_sort(places, [](const auto& a, const auto& b) {
    return std::pair(a.own, a.total) > std::pair(b.own, b.total);
  });
  std::vector<reports::TopPlace> reported;
  for (const TopPlaceRow& row : places) {
    if (reported.size() == kTopReported) {
      break;
    }
    reported.push_back({to_utf8(row.place.function), to_utf8(row.place.file),
                        line_of(row.place), row.own, row.total});
  }
  return reported;
}

std::vector<reports::TopTask> tasks_of(const TopData& data) {
  auto tasks = top_tasks(data);
  std::ranges::stable_sort(tasks, std::greater(), &TopTaskRow::share);
  std::vector<reports::TopTask> reported;
  for (const TopTaskRow& row : tasks) {
    if (reported.size() == kTopReported) {
      break;
    }
    reports::TopTask task{.name = to_utf8(row.label), .percent = row.share};
    if (row.thread) {
      task.pid = data.threads[*row.thread].pid;
      task.tid = data.threads[*row.thread].tid;
    }
    for (const ProfilePlace& place : hottest_stack(data, row.node)) {
      task.stack.push_back(
          {to_utf8(place.function), to_utf8(place.file), line_of(place)});
    }
    reported.push_back(std::move(task));
  }
  return reported;
}

}  // namespace

std::string top_text(const TopData& data,
                     std::size_t columns,
                     const Palette& palette) {
  std::string text = recording_line(data.state, data.rate) + "\n";
  if (top_processes(data).size() > 1) {
    text += "\n" + table_text(data, TopView::Processes, columns, palette);
  }
  text += "\n" + table_text(data, TopView::Threads, columns, palette);
  if (!top_tasks(data).empty()) {
    text += "\n" + table_text(data, TopView::Tasks, columns, palette);
  }
  return text + "\n" + table_text(data, TopView::Functions, columns, palette);
}

reports::Top top_report(const TopData& data) {
  const RecordingState& state = data.state;
  const double lasted = std::chrono::duration<double>(state.lasted).count();
  const auto share = [&](std::chrono::nanoseconds part) {
    return lasted > 0 ? std::chrono::duration<double>(part).count() / lasted
                      : 0;
  };
  reports::Top report{.lasted_s = lasted,
                      .rate = data.rate,
                      .due = static_cast<std::int64_t>(state.counts.due),
                      .kept = static_cast<std::int64_t>(state.counts.kept),
                      .late = static_cast<std::int64_t>(state.counts.late),
                      .missed = static_cast<std::int64_t>(state.counts.missed),
                      .torn = static_cast<std::int64_t>(state.counts.torn),
                      .cpu_share = share(state.used),
                      .stopped_share = share(state.stopped),
                      .functions = places_of(data, false),
                      .lines = places_of(data, true)};
  for (const TopProcessRow& row : top_processes(data)) {
    report.processes.push_back({row.pid, to_utf8(row.label),
                                static_cast<std::int64_t>(row.threads), row.cpu,
                                row.gil, row.runs, to_utf8(row.hot)});
  }
  for (const TopThreadRow& row : top_threads(data)) {
    reports::TopThread thread{.pid = row.pid,
                              .tid = row.tid,
                              .name = to_utf8(row.label),
                              .process = to_utf8(row.process),
                              .cpu_percent = row.cpu,
                              .gil_percent = row.gil,
                              .running_percent = row.runs,
                              .running = row.running};
    if (!row.waits.empty()) {
      thread.waits_for = to_utf8(row.waits);
    }
    report.threads.push_back(std::move(thread));
  }
  if (data.tasks) {
    report.tasks = tasks_of(data);
  }
  return report;
}

}  // namespace hangdbg
