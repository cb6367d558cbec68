// The terminal as a screen: frames on it, keys from it, and as it was before
// when this goes. The only file that knows ncurses.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "client/terminal/render.h"
#include "client/views/top/frame.h"

namespace hangdbg {

class TopScreen {
 public:
  // On stdin and stdout. Errors: Usage, where they are no terminal, or one that
  // cannot move its cursor.
  static Result<std::unique_ptr<TopScreen>> open(ColourChoice colour);
  ~TopScreen();
  TopScreen(const TopScreen&) = delete;
  TopScreen& operator=(const TopScreen&) = delete;

  // As the terminal is now.
  TopSize size();
  // What has changed goes out in one write.
  void show(const std::vector<TopLine>& frame);
  // One that was typed and is not taken yet.
  std::optional<TopKey> key();

  // While another program has the terminal.
  void leave();
  void come_back();

 private:
  TopScreen();
  void flush();

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hangdbg
