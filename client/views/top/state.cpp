#include "client/views/top/state.h"

#include <algorithm>

namespace hangdbg {
namespace {

using KeyKind = TopKey::Kind;

std::size_t columns_in(TopView view) {
  return view == TopView::Threads || view == TopView::Processes ? 6 : 5;
}

}  // namespace

TopAction TopState::key(const TopKey& key,
                        const TopTable& table,
                        std::size_t page) {
  note.clear();
  if (help) {
    help = false;
    return TopAction::None;
  }
  if (typing) {
    type(key);
    return TopAction::None;
  }
  switch (key.kind) {
    case KeyKind::Character:
      return command(key.character);
    case KeyKind::Enter:
      if (cursor < table.rows.size() && table.rows[cursor].opens) {
        open(table.rows[cursor]);
      }
      break;
    case KeyKind::Escape:
    case KeyKind::Backspace:
      back();
      break;
    case KeyKind::Tab:
    case KeyKind::BackTab: {
      const int views = tasks ? 5 : 4;
      const int step = key.kind == KeyKind::Tab ? 1 : views - 1;
      look_at(
          static_cast<TopView>((static_cast<int>(choice.view) + step) % views));
      break;
    }
    default:
      move(key, table.rows.size(), page);
  }
  return TopAction::None;
}

TopAction TopState::command(char character) {
  switch (character) {
    case 'q':
      return TopAction::Quit;
    case '1':
    case '2':
    case '3':
    case '4':
      look_at(static_cast<TopView>(character - '1'));
      break;
    case '5':
      if (tasks) {
        look_at(TopView::Tasks);
      } else {
        note = "t shows asyncio's tasks";
      }
      break;
    case 's':
      choice.sort = (choice.sort + 1) % columns_in(choice.view);
      break;
    case 'S':
      choice.sort =
          (choice.sort + columns_in(choice.view) - 1) % columns_in(choice.view);
      break;
    case 'r':
      choice.reverse = !choice.reverse;
      break;
    case '/':
      typing = true;
      choice.search.clear();
      break;
    case ' ':
      paused = !paused;
      break;
    case 'i':
      idle = !idle;
      return TopAction::Restart;
    case 'g':
      gil = !gil;
      return TopAction::Restart;
    case 't':
      tasks = !tasks;
      if (!tasks && choice.view == TopView::Tasks) {
        look_at(TopView::Functions);
      }
      return TopAction::Restart;
    case 'c':
      return TopAction::Restart;
    case 'd':
      return TopAction::Dump;
    case 'a':
      return TopAction::Attach;
    case 'h':
    case '?':
      help = true;
      break;
    case 'k':
      cursor -= cursor > 0 ? 1 : 0;
      break;
    case 'j':
      ++cursor;  // the frame keeps it in the table
      break;
    default:
      note = "unknown key; ? shows all";
  }
  return TopAction::None;
}

void TopState::type(const TopKey& key) {
  switch (key.kind) {
    case KeyKind::Character:
      choice.search += key.character;
      break;
    case KeyKind::Backspace:
      if (!choice.search.empty()) {
        choice.search.pop_back();
      }
      break;
    case KeyKind::Escape:
      choice.search.clear();
      typing = false;
      break;
    default:
      typing = false;
  }
  cursor = first = 0;
}

void TopState::move(const TopKey& key, std::size_t rows, std::size_t page) {
  const std::size_t last = rows > 0 ? rows - 1 : 0;
  switch (key.kind) {
    case KeyKind::Up:
      cursor -= cursor > 0 ? 1 : 0;
      break;
    case KeyKind::Down:
      ++cursor;
      break;
    case KeyKind::PageUp:
      cursor -= std::min(cursor, page);
      break;
    case KeyKind::PageDown:
      cursor += page;
      break;
    case KeyKind::Home:
      cursor = 0;
      break;
    default:
      cursor = last;
  }
  cursor = std::min(cursor, last);
}

// In the same thread or process; a function is left.
void TopState::look_at(TopView view) {
  choice.view = view;
  choice.scope.function.reset();
  if (view != TopView::Functions && view != TopView::Lines) {
    choice.scope = {};
    before.clear();
  }
  choice.sort = 0;
  choice.reverse = false;
  cursor = first = 0;
}

void TopState::open(const TopRow& row) {
  before.push_back({choice, cursor});
  const bool of_process = choice.view == TopView::Processes;
  const bool of_thread =
      choice.view == TopView::Threads || choice.view == TopView::Tasks;
  choice.scope = *row.opens;
  choice.search.clear();
  choice.view = of_process                      ? TopView::Threads
                : of_thread                     ? TopView::Functions
                : choice.view == TopView::Lines ? TopView::Lines
                                                : TopView::Functions;
  choice.sort = of_process || of_thread ? 0 : choice.sort;
  cursor = first = 0;
}

void TopState::back() {
  if (!choice.search.empty()) {
    choice.search.clear();
  } else if (!before.empty()) {
    choice = before.back().choice;
    cursor = before.back().cursor;
    before.pop_back();
  } else if (!choice.scope.is_all()) {
    choice.scope = {};
    cursor = 0;
  }
}

}  // namespace hangdbg
