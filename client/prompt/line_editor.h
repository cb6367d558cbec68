// LineEditor: one line from a terminal, with editing, history and Tab.
//
// The only file that knows libedit. Follows the terminal's size, comes back
// well from Ctrl-Z, and gives a Ctrl-C at the prompt to its caller.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "client/prompt/completion.h"
#include "client/terminal/render.h"

namespace hangdbg {

class LineEditor {
 public:
  using Completer = std::function<Completion(std::string_view before_cursor)>;
  enum class Came { Line, Interrupt, End, Event };
  struct Prompt {
    std::string text;
    bool is_warning = false;  // red
    bool may_change = false;  // while nothing is typed
  };

  // On stdin and stdout. Null if libedit cannot use this terminal.
  static std::unique_ptr<LineEditor> open();
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  void set_completer(Completer completer);

  // read() comes back with Event as soon as this descriptor is readable; with
  // what `handle` says, if that is given, and goes on with the line if it says
  // nothing.
  void watch(int fd, std::function<std::optional<Came>()> handle = {});
  // For `handle`, before it prints: then the line is shown anew below that.
  void make_room();

  // The line comes without its end, and is in the history from now on. A prompt
  // that may change is asked for again and again, and shown when it has.
  Came read(const std::function<Prompt()>& prompt,
            const Palette& palette,
            std::string& line);
  // Whether something of the last line was pasted; only some terminals say so.
  bool was_pasted() const;
  // Whether the lines that follow are pasted, too.
  bool paste_goes_on() const;
  // Whether the last line came together with others, faster than anybody types;
  // and whether more of them are there. Not what was typed while we were busy.
  bool came_at_once() const;
  bool more_at_once() const;

 private:
  LineEditor();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hangdbg
