// What of `top` is on the screen, and what each key changes.
#pragma once

#include <string>
#include <vector>

#include "client/views/top/table.h"

namespace hangdbg {

struct TopKey {
  enum class Kind {
    Character,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Escape,
    Backspace,
    Tab,
    BackTab,
  };
  Kind kind = Kind::Character;
  char character = 0;
};

// What is more than a change of the screen.
enum class TopAction { None, Quit, Restart, Dump, Attach };

struct TopState {
  TopChoice choice;
  std::size_t cursor = 0;
  std::size_t first = 0;  // of the rows that are shown
  bool typing = false;    // a word to search for
  bool paused = false;
  bool help = false;
  bool idle = false;   // blocked threads' stacks count, too
  bool gil = false;    // only stacks of the GIL's holder
  bool tasks = false;  // asyncio's, in place of the loops that run them
  std::string note;    // until the next key

  struct Before {
    TopChoice choice;
    std::size_t cursor;
  };
  std::vector<Before> before;  // to come back to

  // `rows`: of the table that is shown, `page` of them at once.
  TopAction key(const TopKey& key, const TopTable& table, std::size_t page);

 private:
  TopAction command(char character);
  void type(const TopKey& key);
  void move(const TopKey& key, std::size_t rows, std::size_t page);
  void look_at(TopView view);
  void open(const TopRow& row);
  void back();
};

}  // namespace hangdbg
