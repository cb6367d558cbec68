// A view of `top` as a table: numbers first, then texts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/views/top/rows.h"

namespace hangdbg {

struct TopColumn {
  std::string title;
  // Of a number; 0: a text, which shares what room there is.
  std::size_t width = 0;
  int part = 1;  // of that room
};

struct TopRow {
  std::vector<double> numbers;
  std::vector<std::string> texts;
  std::string mark = {};               // "<- ": a caller; "-> ": what is called
  bool bright = false;                 // it runs
  std::optional<TopScope> opens = {};  // at Enter
  int pid = 0, tid = 0;                // 0: of no process alone
};

struct TopTable {
  std::vector<TopColumn> columns;
  std::vector<TopRow> rows;
};

// What is selected to be shown.
struct TopChoice {
  TopView view = TopView::Functions;
  TopScope scope = {};
  std::string search = {};
  std::size_t sort = 0;  // by which column
  bool reverse = false;
};

TopTable top_table(const TopData& data, const TopChoice& choice);

// "function f (a.py:3)", "thread 42 (loader)"; "" of all.
std::string scope_text(const TopData& data, const TopScope& scope);

}  // namespace hangdbg
