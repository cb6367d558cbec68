#include "client/terminal/pager.h"

#include <poll.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "client/terminal/awaited_input.h"
#include "client/terminal/interrupt.h"
#include "client/terminal/render.h"

namespace hangdbg {
namespace {

constexpr std::string_view kMore = "--More--";

// How many columns a line takes: escape sequences take none.
std::size_t columns_of(std::string_view line) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b') {
      i = std::min(line.find('m', i), line.size());
    } else if (line[i] == '\t') {
      count += 8 - count % 8;
    } else {
      count += (static_cast<unsigned char>(line[i]) & 0xC0) != 0x80;
    }
  }
  return count;
}

int rows_of(std::string_view line) {
  const auto columns =
      std::max<std::size_t>(static_cast<std::size_t>(terminal_columns()), 1);
  return static_cast<int>(
      std::max<std::size_t>((columns_of(line) + columns - 1) / columns, 1));
}

// As keys are typed, without their echo.
class KeyMode {
 public:
  KeyMode() {
    if (::tcgetattr(STDIN_FILENO, &before_) == 0) {
      termios now = before_;
      now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      now.c_cc[VMIN] = 1;
      now.c_cc[VTIME] = 0;
      changed_ = ::tcsetattr(STDIN_FILENO, TCSADRAIN, &now) == 0;
    }
  }
  ~KeyMode() {
    if (changed_) {
      ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
    }
  }
  KeyMode(const KeyMode&) = delete;
  KeyMode& operator=(const KeyMode&) = delete;

 private:
  bool changed_ = false;
  termios before_{};
};

// 'q' for Ctrl-C, also one that came while the screen was drawn, and for the
// end of input. Without a limit, as at the prompt.
char await_key() {
  AwaitedInput input({SIGINT});
  while (!Interruptible::take()) {
    std::array<pollfd, 1> ready = {{{STDIN_FILENO, POLLIN, 0}}};
    char key = '\0';
    const auto got =
        input.wait(ready) == 1 ? input.read(key) : AwaitedInput::Got::Nothing;
    if (got != AwaitedInput::Got::Nothing) {
      return got == AwaitedInput::Got::Byte ? key : 'q';
    }
  }
  return 'q';
}

char ask_key() {
  const KeyMode mode;
  print_now(stdout, kMore);
  const char key = await_key();
  print_now(stdout, "\r\x1b[K");
  return key == '\x03' || key == '\x04' || key == 'Q' ? 'q' : key;
}

void show_by_screens(const std::vector<std::string_view>& lines) {
  const int page = std::max(terminal_lines() - 1, 1);
  int room = page;
  for (const std::string_view line : lines) {
    const int rows = rows_of(line);
    if (room < rows && room < page) {
      const char key = ask_key();
      if (key == 'q') {
        return;
      }
      room = key == '\r' || key == '\n' ? rows : page;
    }
    print_now(stdout, std::string(line) + "\n");
    room -= rows;
  }
}

// Whether there is one, and it could be started.
bool show_by_program(const std::string& text) {
  const char* const pager = std::getenv("PAGER");
  if (pager == nullptr || *pager == '\0') {
    return false;
  }
  flush_output(stdout);
  ::setenv("LESS", "FRX", 0);  // with colours; as git and systemd do
  ::setenv("LESSSECURE", "1", 0);
  std::FILE* const to = ::popen(pager, "w");
  if (to == nullptr) {
    return false;
  }
  struct sigaction ignored {};
  struct sigaction before {};
  ignored.sa_handler = SIG_IGN;  // it may leave before it has read all
  ::sigaction(SIGPIPE, &ignored, &before);
  std::fwrite(text.data(), 1, text.size(), to);
  const int status = ::pclose(to);
  ::sigaction(SIGPIPE, &before, nullptr);
  Interruptible::take();
  return !(WIFEXITED(status) && WEXITSTATUS(status) == 127);  // no such program
}

}  // namespace

Paged::Paged(bool wanted)
    : keeps_(wanted && ::isatty(STDIN_FILENO) == 1 &&
             ::isatty(STDOUT_FILENO) == 1) {
  if (keeps_) {
    keep_output();
  }
}

Paged::~Paged() {
  if (!keeps_) {
    return;
  }
  const std::string text = take_kept_output();
  std::vector<std::string_view> lines = split(text, '\n');
  if (!lines.empty() && lines.back().empty()) {
    lines.pop_back();
  }
  int rows = 0;
  for (const std::string_view line : lines) {
    rows += rows_of(line);
  }
  if (rows < terminal_lines()) {
    print_now(stdout, text);
  } else if (!show_by_program(text)) {
    show_by_screens(lines);
  }
}

}  // namespace hangdbg
