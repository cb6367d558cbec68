#include "client/views/top/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/text.h"

namespace hangdbg {
namespace {

constexpr std::size_t kNumber = 8;

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return text;
}

TopRow place_row(const TopPlaceRow& place, const TopScope& scope) {
  TopRow row{
      .numbers = {place.own, place.total, place.own_s, place.total_s},
      .texts = {printable(top_label(place.place))},
      .bright = place.own > 0,
  };
  row.opens = scope;
  row.opens->function = place.place;
  row.opens->function->line = 0;
  return row;
}

void add_places(TopTable& table,
                const TopData& data,
                const TopScope& scope,
                bool by_line) {
  for (const TopPlaceRow& place : top_places(data, scope, by_line)) {
    table.rows.push_back(place_row(place, scope));
  }
}

std::string thread_text(const TopThreadRow& thread) {
  return thread.label.empty() ? fmt::format("{}", thread.tid)
                              : fmt::format("{} {}", thread.tid, thread.label);
}

void add_threads(TopTable& table, const TopData& data, const TopScope& scope) {
  for (const TopThreadRow& thread : top_threads(data, scope.process)) {
    table.rows.push_back(
        {.numbers = {thread.cpu, thread.gil, thread.runs},
         .texts = {printable(thread_text(thread)),
                   thread.running         ? "runs"
                   : thread.waits.empty() ? "blocked"
                                          : printable(thread.waits),
                   printable(thread.where)},
         .bright = thread.running,
         .opens = TopScope{.thread = thread.thread},
         .pid = thread.pid,
         .tid = thread.tid});
  }
}

void add_processes(TopTable& table, const TopData& data) {
  for (const TopProcessRow& process : top_processes(data)) {
    table.rows.push_back(
        {.numbers = {process.cpu, process.gil, process.runs,
                     static_cast<double>(process.threads)},
         .texts = {printable(process.label), printable(process.hot)},
         .bright = process.runs > 0,
         .opens = TopScope{.process = process.label},
         .pid = process.pid});
  }
}

void add_tasks(TopTable& table, const TopData& data) {
  for (const TopTaskRow& task : top_tasks(data)) {
    TopRow row{.numbers = {task.share, task.share_s},
               .texts = {printable(task.label), "", printable(task.where)},
               .bright = task.share > 0,
               .opens = TopScope{.task = task.node}};
    if (task.thread) {
      const ProfiledThread& thread = data.threads[*task.thread];
      row.texts[1] = printable(thread_label(thread));
      row.pid = thread.pid;
      row.tid = thread.tid;
    }
    table.rows.push_back(std::move(row));
  }
}

std::vector<TopColumn> columns_of(TopView view) {
  switch (view) {
    case TopView::Threads:
      return {{"cpu %", kNumber}, {"gil %", kNumber},  {"runs %", kNumber},
              {"thread", 0, 3},   {"waits for", 0, 3}, {"at", 0, 3}};
    case TopView::Processes:
      return {{"cpu %", kNumber},   {"gil %", kNumber}, {"runs %", kNumber},
              {"threads", kNumber}, {"process", 0, 1},  {"hottest", 0, 1}};
    case TopView::Tasks:
      return {{"time %", kNumber},
              {"time s", kNumber},
              {"task", 0, 2},
              {"thread", 0, 2},
              {"at", 0, 3}};
    default:
      return {{"own %", kNumber},
              {"total %", kNumber},
              {"own s", kNumber},
              {"total s", kNumber},
              {view == TopView::Lines ? "line" : "function", 0}};
  }
}

// Numbers: the largest first. Texts: by the alphabet.
void sort_rows(std::vector<TopRow>& rows, std::size_t by, bool reverse) {
  std::ranges::stable_sort(rows, [&](const TopRow& x, const TopRow& y) {
    const TopRow& a = reverse ? y : x;
    const TopRow& b = reverse ? x : y;
    const std::size_t numbers = a.numbers.size();
    if (by >= numbers) {
      return a.texts[by - numbers] < b.texts[by - numbers];
    }
    return std::pair(a.numbers[by], a.numbers) >
           std::pair(b.numbers[by], b.numbers);
  });
}

// Callers, the function's lines, what it calls.
void add_function(TopTable& table,
                  const TopData& data,
                  const TopChoice& choice) {
  const auto add = [&](std::vector<TopPlaceRow> places, const char* mark) {
    std::vector<TopRow> rows;
    TopScope around = choice.scope;
    around.function.reset();
    for (const TopPlaceRow& place : places) {
      rows.push_back(place_row(place, around));
      rows.back().mark = mark;
    }
    sort_rows(rows, choice.sort, choice.reverse);
    std::ranges::move(rows, std::back_inserter(table.rows));
  };
  add(top_neighbours(data, choice.scope, TopSide::Callers), "<- ");
  auto lines = top_places(data, choice.scope, true);
  std::erase_if(lines, [&](const TopPlaceRow& row) {
    ProfilePlace function = row.place;
    function.line = 0;
    return function != *choice.scope.function;
  });
  add(std::move(lines), "   ");
  add(top_neighbours(data, choice.scope, TopSide::Callees), "-> ");
}

// Its stack first, innermost on top.
void add_stack(TopTable& table, const TopData& data, const TopScope& scope) {
  const auto lines = top_places(data, scope, true);
  const auto stack = scope.task ? hottest_stack(data, *scope.task)
                                : last_stack(data, *scope.thread);
  for (const ProfilePlace& place : stack) {
    const auto known = std::ranges::find(lines, place, &TopPlaceRow::place);
    table.rows.push_back(place_row(
        known == lines.end() ? TopPlaceRow{.place = place} : *known, scope));
    table.rows.back().mark = "at ";
  }
}

}  // namespace

TopTable top_table(const TopData& data, const TopChoice& choice) {
  TopTable table{.columns = columns_of(choice.view)};
  const std::size_t by = std::min(choice.sort, table.columns.size() - 1);
  if (choice.scope.function) {
    add_function(table, data, choice);
  } else {
    switch (choice.view) {
      case TopView::Functions:
      case TopView::Lines:
        add_places(table, data, choice.scope, choice.view == TopView::Lines);
        break;
      case TopView::Threads:
        add_threads(table, data, choice.scope);
        break;
      case TopView::Processes:
        add_processes(table, data);
        break;
      case TopView::Tasks:
        add_tasks(table, data);
        break;
    }
    sort_rows(table.rows, by, choice.reverse);
    if ((choice.scope.thread || choice.scope.task) &&
        (choice.view == TopView::Functions || choice.view == TopView::Lines)) {
      TopTable stack;
      add_stack(stack, data, choice.scope);
      std::ranges::move(stack.rows,
                        std::inserter(table.rows, table.rows.begin()));
    }
  }
  const std::string word = lower(choice.search);
  std::erase_if(table.rows, [&](const TopRow& row) {
    return std::ranges::none_of(row.texts, [&](const std::string& text) {
      return lower(text).find(word) != std::string::npos;
    });
  });
  return table;
}

std::string scope_text(const TopData& data, const TopScope& scope) {
  std::string text;
  if (scope.task) {
    text = data.places[data.nodes[*scope.task].place].function;
  } else if (scope.thread) {
    text = thread_label(data.threads[*scope.thread]);
  } else if (!scope.process.empty()) {
    text = scope.process;
  }
  if (scope.function) {
    text += (text.empty() ? "" : ", ") + top_label(*scope.function);
  }
  return printable(text);
}

}  // namespace hangdbg
