#include "client/prompt/line_editor.h"

#include <fmt/core.h>
#include <histedit.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <cwchar>
#include <utility>

#include "base/text.h"
#include "client/prompt/history_file.h"
#include "client/terminal/awaited_input.h"
#include "client/terminal/interrupt.h"
#include "client/terminal/python_colours.h"
#include "client/terminal/render.h"

namespace hangdbg {
namespace {

constexpr timespec kBetweenPrompts = {0, 200'000'000};
// A terminal far away gives a paste in pieces.
constexpr int kBetweenPieces = 50;  // ms
constexpr char kEscapeMark = '\1';  // around what takes no room in the prompt
// Of terminals that have it (xterm's control sequences, "bracketed paste").
constexpr auto kMarkPastes = "\x1b[?2004h";
constexpr auto kMarkNoPastes = "\x1b[?2004l";

// Set by signals, seen by read_character().
volatile std::sig_atomic_t resized = 0;
volatile std::sig_atomic_t continued = 0;

void use_utf8() {
  // libedit takes keys apart with the C library's locale. A machine without
  // the one that is asked for often has one of these.
  for (const char* const name : {"", "C.UTF-8", "C.utf8", "en_US.UTF-8"}) {
    if (std::setlocale(LC_CTYPE, name) != nullptr && MB_CUR_MAX > 1) {
      return;
    }
  }
}

bool has_input(int patience) {
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  return ::poll(&input, 1, patience) > 0;
}

}  // namespace

struct LineEditor::Impl {
  EditLine* editor = nullptr;
  History* history = nullptr;
  HistoryFile file;
  Completer completer;
  std::function<Prompt()> ask_prompt;
  Prompt prompt;
  std::string shown_prompt;  // with its colours
  bool has_colours = false;
  bool interrupted = false;
  bool marks_pastes = false;
  bool pasting = false;
  bool pasted = false;   // something of this line
  bool at_once = false;  // it came together with others
  bool more = false;     // of them
  std::string coloured;  // what is on the screen in colours
  int watched = -1;
  std::function<std::optional<Came>()> handle;
  bool made_room = false;  // and the line is to be shown anew
  bool event = false;

  static Impl& of(EditLine* editor) {
    void* data = nullptr;
    ::el_get(editor, EL_CLIENTDATA, &data);
    return *static_cast<Impl*>(data);
  }
  static char* prompt_text(EditLine* editor) {
    return of(editor).shown_prompt.data();
  }
  // Whether it is another than before.
  bool renew_prompt();
  // What is typed, once more in colours, where it is in one row.
  void show_colours();
  // What is watched can be read: whether the line goes on all the same.
  bool goes_on();
  // Whether the line that has come was idly awaited.
  void look_for_more(bool was_idle);
  static int read_character(EditLine* editor, wchar_t* character);
  static unsigned char on_tab(EditLine* editor, int key);
  static unsigned char on_paste(EditLine* editor, int key);
  static unsigned char on_paste_end(EditLine* editor, int key);

  void add_history(const std::string& line) {
    HistEvent event;
    ::history(history, &event, H_ENTER, line.c_str());
  }
};

std::unique_ptr<LineEditor> LineEditor::open() {
  use_utf8();
  std::unique_ptr<LineEditor> made(new LineEditor);
  Impl& impl = *made->impl_;
  impl.editor = ::el_init("hangdbg", stdin, stdout, stderr);
  impl.history = ::history_init();
  if (impl.editor == nullptr || impl.history == nullptr) {
    return nullptr;
  }
  HistEvent event;
  ::history(impl.history, &event, H_SETSIZE, 1000);
  ::history(impl.history, &event, H_SETUNIQUE, 1);
  for (const std::string& line : impl.file.load()) {
    impl.add_history(line);
  }
  EditLine* const editor = impl.editor;
  ::el_set(editor, EL_CLIENTDATA, &impl);
  ::el_set(editor, EL_EDITOR, "emacs");
  ::el_set(editor, EL_PROMPT_ESC, &Impl::prompt_text, kEscapeMark);
  ::el_set(editor, EL_HIST, &::history, impl.history);
  ::el_set(editor, EL_GETCFN, &Impl::read_character);
  ::el_set(editor, EL_ADDFN, "hangdbg-complete", "Completes the word",
           &Impl::on_tab);
  ::el_set(editor, EL_BIND, "^I", "hangdbg-complete", nullptr);
  ::el_set(editor, EL_ADDFN, "hangdbg-paste", "What follows is pasted",
           &Impl::on_paste);
  ::el_set(editor, EL_ADDFN, "hangdbg-paste-end", "What follows is typed",
           &Impl::on_paste_end);
  ::el_set(editor, EL_BIND, "\\e[200~", "hangdbg-paste", nullptr);
  ::el_set(editor, EL_BIND, "\\e[201~", "hangdbg-paste-end", nullptr);
  const char* const terminal = std::getenv("TERM");
  impl.marks_pastes = terminal != nullptr && *terminal != '\0' &&
                      std::string_view(terminal) != "dumb";
  ::el_set(editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  // A Ctrl-D typed while a command runs stays in the queue as a key: as the
  // terminal's end of file it would come as a NUL, which quotes the next key.
  ::el_set(editor, EL_SETTY, "-x", "eof=", nullptr);
  ::el_source(editor, nullptr);  // ~/.editrc

  struct sigaction action {};
  action.sa_flags = SA_RESTART;  // what is being written is written whole
  action.sa_handler = [](int) { resized = 1; };
  ::sigaction(SIGWINCH, &action, nullptr);
  action.sa_handler = [](int) { continued = 1; };
  ::sigaction(SIGCONT, &action, nullptr);
  return made;
}

LineEditor::LineEditor() : impl_(std::make_unique<Impl>()) {}

LineEditor::~LineEditor() {
  std::signal(SIGWINCH, SIG_DFL);
  std::signal(SIGCONT, SIG_DFL);
  if (impl_->editor != nullptr) {
    ::el_end(impl_->editor);
  }
  if (impl_->history != nullptr) {
    ::history_end(impl_->history);
  }
}

void LineEditor::set_completer(Completer completer) {
  impl_->completer = std::move(completer);
}

void LineEditor::watch(int fd, std::function<std::optional<Came>()> handle) {
  impl_->watched = fd;
  impl_->handle = std::move(handle);
}

void LineEditor::make_room() {
  if (!std::exchange(impl_->made_room, true)) {
    say("\r\x1b[J");
    flush_output(stdout);
  }
}

bool LineEditor::Impl::goes_on() {
  made_room = false;
  const auto ends = handle ? handle() : std::optional(Came::Event);
  interrupted = ends == Came::Interrupt;
  event = ends == Came::Event;
  if (!ends && made_room) {
    coloured.clear();
    renew_prompt();
    ::el_set(editor, EL_REFRESH);
  }
  return !ends;
}

LineEditor::Came LineEditor::read(const std::function<Prompt()>& prompt,
                                  const Palette& palette,
                                  std::string& line) {
  impl_->ask_prompt = prompt;
  impl_->has_colours = palette.has_colours();
  impl_->renew_prompt();
  impl_->coloured.clear();
  impl_->interrupted = false;
  impl_->event = false;
  impl_->pasted = impl_->pasting;
  const bool was_idle = !has_input(0);
  say("{}", impl_->marks_pastes && !impl_->pasting ? kMarkPastes : "");
  flush_output(stdout);
  // libedit alone would do this after it has shown the prompt; a Ctrl-D typed
  // in between would be lost.
  ::el_set(impl_->editor, EL_PREP_TERM, 1);
  int length = 0;
  const char* const text = ::el_gets(impl_->editor, &length);
  say("{}", impl_->marks_pastes && !impl_->pasting ? kMarkNoPastes : "");
  if (impl_->interrupted) {
    if (std::exchange(impl_->pasting, false) || impl_->more) {
      ::tcflush(STDIN_FILENO, TCIFLUSH);  // nothing of it is a command
    }
    impl_->at_once = impl_->more = false;
    say("^C\n");
    return Came::Interrupt;
  }
  if (impl_->event || text == nullptr || length <= 0) {
    say("\n");
    return impl_->event ? Came::Event : Came::End;
  }
  line.assign(text, static_cast<std::size_t>(length));
  line.erase(line.find_last_not_of("\r\n") + 1);
  impl_->look_for_more(was_idle);
  if (!trim(line).empty()) {
    impl_->add_history(line);
    impl_->file.append(line);
  }
  return Came::Line;
}

bool LineEditor::was_pasted() const {
  return impl_->pasted;
}

bool LineEditor::paste_goes_on() const {
  return impl_->pasting;
}

bool LineEditor::came_at_once() const {
  return impl_->at_once;
}

bool LineEditor::more_at_once() const {
  return impl_->more;
}

void LineEditor::Impl::look_for_more(bool was_idle) {
  const bool belongs = std::exchange(more, false);
  const bool waits = has_input(belongs ? kBetweenPieces : 0);
  at_once = !pasted && (belongs || (was_idle && waits));
  more = at_once && waits;
}

bool LineEditor::Impl::renew_prompt() {
  const std::string before = std::exchange(prompt, ask_prompt()).text;
  // libedit leaves out what follows the last character: the colour ends
  // before that, which is a space.
  const std::string_view text = prompt.text;
  const std::size_t last = text.empty() ? 0 : text.size() - 1;
  shown_prompt =
      has_colours ? fmt::format("{0}\x1b[1;{3}m{0}{1}{0}\x1b[0m{0}{2}",
                                kEscapeMark, text.substr(0, last),
                                text.substr(last), prompt.is_warning ? 31 : 36)
                  : prompt.text;
  return prompt.text != before;
}

// In place of libedit's own: signals are taken here, between two keys, and
// not in handlers; -1 ends the line.
int LineEditor::Impl::read_character(EditLine* editor, wchar_t* character) {
  AwaitedInput input({SIGINT, SIGWINCH, SIGCONT});
  std::mbstate_t state{};
  int result = -1;
  while (true) {
    if (Interruptible::take()) {
      of(editor).interrupted = true;
      break;
    }
    if (resized != 0) {
      resized = 0;
      ::el_resize(editor);
    }
    if (continued != 0) {
      continued = 0;
      ::el_set(editor, EL_PREP_TERM, 0);  // forget what it was before
      ::el_set(editor, EL_PREP_TERM, 1);
      ::el_set(editor, EL_REFRESH);
    }
    of(editor).show_colours();
    pollfd ready[] = {{STDIN_FILENO, POLLIN, 0},
                      {of(editor).watched, POLLIN, 0}};
    const int count = input.wait(
        ready, of(editor).prompt.may_change ? &kBetweenPrompts : nullptr);
    if (count < 0) {
      continue;  // a signal
    }
    if (count == 0) {
      if (of(editor).renew_prompt()) {
        say("\n");
        flush_output(stdout);
        ::el_set(editor, EL_REFRESH);
      }
      continue;
    }
    if (ready[1].revents != 0) {
      if (of(editor).goes_on()) {
        continue;
      }
      break;
    }
    char byte = 0;
    const auto got = input.read(byte);
    if (got == AwaitedInput::Got::Nothing) {
      continue;  // Ctrl-C has taken it away
    }
    if (got == AwaitedInput::Got::End) {
      result = 0;
      break;
    }
    const std::size_t length = std::mbrtowc(character, &byte, 1, &state);
    if (length == static_cast<std::size_t>(-2)) {
      continue;  // more bytes belong to it
    }
    if (length == static_cast<std::size_t>(-1)) {
      state = {};
      continue;  // no character: as if it had not been typed
    }
    result = 1;
    break;
  }
  return result;
}

// libedit knows which characters are on the screen, and not in which colours.
void LineEditor::Impl::show_colours() {
  const LineInfo* const info = ::el_line(editor);
  const std::string_view line(
      info->buffer, static_cast<std::size_t>(info->lastchar - info->buffer));
  const bool is_plain = std::ranges::all_of(
      line, [](char c) { return c >= ' ' && c <= '~'; });  // a column each
  if (!has_colours || line.empty() || !is_plain || pasting ||
      line == coloured ||
      prompt.text.size() + line.size() >=
          static_cast<std::size_t>(terminal_columns()) ||
      has_input(0)) {
    return;
  }
  coloured = line;
  // Save the cursor; to the row's start; past the prompt; restore the cursor.
  say("\x1b[?25l\x1b"
      "7\r\x1b[{}C{}\x1b"
      "8\x1b[?25h",
      prompt.text.size(), PythonColours().line(line));
  flush_output(stdout);
}

unsigned char LineEditor::Impl::on_paste(EditLine* editor, int) {
  of(editor).pasting = of(editor).pasted = true;
  return CC_NORM;
}

unsigned char LineEditor::Impl::on_paste_end(EditLine* editor, int) {
  of(editor).pasting = false;
  return CC_NORM;
}

unsigned char LineEditor::Impl::on_tab(EditLine* editor, int) {
  Impl& impl = of(editor);
  const LineInfo* const info = ::el_line(editor);
  const std::string before(info->buffer, info->cursor);
  if (!impl.completer) {
    return CC_ERROR;
  }
  if (impl.pasting ||
      trim(before).empty()) {  // pasted code keeps its indentation
    ::el_insertstr(editor, "    ");
    return CC_REFRESH;
  }
  const Completion found = impl.completer(before);
  if (!found.common.empty()) {
    ::el_insertstr(editor, found.common.c_str());
    return CC_REFRESH;
  }
  if (found.labels.empty()) {
    return CC_REFRESH_BEEP;
  }
  list_labels(found.labels);
  return CC_REDISPLAY;
}

}  // namespace hangdbg
