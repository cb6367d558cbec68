#include "client/views/top/screen.h"

#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "client/terminal/typed.h"

namespace hangdbg {
namespace {

constexpr int kEscapeMs = 25;  // the rest of a key's sequence is there by then
constexpr int kReturn = '\r', kNewline = '\n', kTab = '\t';
constexpr int kEscapeKey = 27, kDelete = 127, kCtrlH = 8;

void use_wide_characters() {
  for (const char* const name : {"", "C.UTF-8", "C.utf8", "en_US.UTF-8"}) {
    if (std::setlocale(LC_CTYPE, name) != nullptr && MB_CUR_MAX > 1) {
      return;
    }
  }
}

std::optional<TopKey> key_of(int typed) {
  using Kind = TopKey::Kind;
  switch (typed) {
    case KEY_UP:
      return TopKey{Kind::Up};
    case KEY_DOWN:
      return TopKey{Kind::Down};
    case KEY_PPAGE:
      return TopKey{Kind::PageUp};
    case KEY_NPAGE:
      return TopKey{Kind::PageDown};
    case KEY_HOME:
      return TopKey{Kind::Home};
    case KEY_END:
      return TopKey{Kind::End};
    case KEY_ENTER:
    case kReturn:
    case kNewline:
      return TopKey{Kind::Enter};
    case kEscapeKey:
      return TopKey{Kind::Escape};
    case KEY_BACKSPACE:
    case kDelete:
    case kCtrlH:
      return TopKey{Kind::Backspace};
    case kTab:
      return TopKey{Kind::Tab};
    case KEY_BTAB:
      return TopKey{Kind::BackTab};
    default:
      return typed >= ' ' && typed < 256
                 ? std::optional(
                       TopKey{Kind::Character, static_cast<char>(typed)})
                 : std::nullopt;
  }
}

}  // namespace

// ncurses flushes line by line, so it draws into a file in memory, and what is
// in it goes to the terminal at once. The terminal's mode is then ours to set.
struct TopScreen::Impl {
  SCREEN* screen = nullptr;
  std::FILE* drawn = nullptr;
  termios before{}, ours{};
  std::array<attr_t, 6> looks = {A_NORMAL, A_BOLD, A_DIM,
                                 A_NORMAL, A_BOLD, A_REVERSE};
};

Result<std::unique_ptr<TopScreen>> TopScreen::open(ColourChoice colour) {
  const char* const term = std::getenv("TERM");
  const bool dumb = term == nullptr || std::string_view(term) == "dumb";
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0 || dumb) {
    return fail(ErrorId::Usage, "the live screen needs a terminal",
                typed_plus("--once"));
  }
  use_wide_characters();
  std::unique_ptr<TopScreen> screen(new TopScreen());
  Impl& impl = *screen->impl_;
  const int memory = ::memfd_create("hangdbg screen", MFD_CLOEXEC);
  impl.drawn = memory < 0 ? nullptr : ::fdopen(memory, "r+");
  if (impl.drawn == nullptr || ::tcgetattr(STDIN_FILENO, &impl.before) != 0) {
    return fail_errno("cannot draw on the terminal");
  }
  impl.screen = ::newterm(nullptr, impl.drawn, stdin);
  if (screen->impl_->screen == nullptr) {
    return fail(ErrorId::Usage,
                std::string("nothing is known here of the terminal ") + term +
                    " (TERM, terminfo)",
                typed_plus("--once"));
  }
  ::set_escdelay(kEscapeMs);
  ::keypad(stdscr, TRUE);
  ::nodelay(stdscr, TRUE);
  ::curs_set(0);
  ::typeahead(-1);  // a frame goes out as a whole, whatever is typed
  if (Palette(colour, stdout).has_colours() && ::has_colors()) {
    ::start_color();
    ::use_default_colors();
    ::init_pair(1, COLOR_GREEN, -1);
    ::init_pair(2, COLOR_RED, -1);
    auto& looks = screen->impl_->looks;
    looks[static_cast<std::size_t>(TopStyle::Bright)] = COLOR_PAIR(1);
    looks[static_cast<std::size_t>(TopStyle::Alarm)] = COLOR_PAIR(2) | A_BOLD;
  }
  impl.ours = impl.before;
  impl.ours.c_iflag &= ~static_cast<tcflag_t>(ICRNL | INLCR);
  impl.ours.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  impl.ours.c_cc[VMIN] = 1;
  impl.ours.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &impl.ours);
  return screen;
}

TopScreen::TopScreen() : impl_(std::make_unique<Impl>()) {}

TopScreen::~TopScreen() {
  if (impl_->screen != nullptr) {
    leave();
    ::delscreen(impl_->screen);
  }
  if (impl_->drawn != nullptr) {
    std::fclose(impl_->drawn);
  }
}

// One write, unless the terminal takes less at a time.
void TopScreen::flush() {
  const int memory = ::fileno(impl_->drawn);
  const off_t size = ::lseek(memory, 0, SEEK_CUR);
  if (size <= 0) {
    return;
  }
  std::string bytes(static_cast<std::size_t>(size), '\0');
  const ssize_t got = ::pread(memory, bytes.data(), bytes.size(), 0);
  ::lseek(memory, 0, SEEK_SET);
  (void)!::ftruncate(memory, 0);
  std::string_view left(bytes.data(),
                        got > 0 ? static_cast<std::size_t>(got) : 0);
  while (!left.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, left.data(), left.size());
    if (written < 0 && errno != EINTR) {
      return;  // the terminal is gone
    }
    left.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
  }
}

TopSize TopScreen::size() {
  winsize now{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &now) == 0 && now.ws_row > 1 &&
      now.ws_col > 0 &&
      (now.ws_row != getmaxy(stdscr) || now.ws_col != getmaxx(stdscr))) {
    ::resizeterm(now.ws_row, now.ws_col);
    ::clearok(stdscr, TRUE);  // the terminal has moved its lines, or has not
  }
  return {static_cast<std::size_t>(getmaxy(stdscr)),
          static_cast<std::size_t>(getmaxx(stdscr))};
}

void TopScreen::show(const std::vector<TopLine>& frame) {
  ::werase(stdscr);
  for (std::size_t i = 0; i < frame.size(); ++i) {
    ::wmove(stdscr, static_cast<int>(i), 0);
    for (const TopSpan& span : frame[i]) {
      ::wattrset(
          stdscr,
          static_cast<int>(impl_->looks[static_cast<std::size_t>(span.style)]));
      ::waddnstr(stdscr, span.text.c_str(), -1);
    }
  }
  ::wattrset(stdscr, A_NORMAL);
  ::wnoutrefresh(stdscr);
  ::doupdate();
  flush();
}

std::optional<TopKey> TopScreen::key() {
  for (int typed = ::wgetch(stdscr); typed != ERR; typed = ::wgetch(stdscr)) {
    if (const auto key = key_of(typed)) {
      return key;
    }
  }
  return std::nullopt;
}

void TopScreen::leave() {
  ::endwin();
  flush();
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &impl_->before);
}

void TopScreen::come_back() {
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &impl_->ours);
  ::clearok(stdscr, TRUE);
}

}  // namespace hangdbg
