#include "client/terminal/render.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "base/fd.h"
#include "base/log.h"
#include "base/shortage.h"
#include "base/text.h"
#include "client/terminal/reported.h"
#include "client/terminal/typed.h"
#include "protocol/json.h"
#include "protocol/reports/error.h"

namespace hangdbg {
namespace {

bool wants_no_colour() {
  const char* const no_color = std::getenv("NO_COLOR");
  const char* const term = std::getenv("TERM");
  return (no_color != nullptr && *no_color != '\0') || term == nullptr ||
         std::string_view(term) == "dumb";
}

std::atomic<int> not_written = 0;  // errno of stdout's first failure

// What report() does: where the answer is to be JSON, and is not there yet, the
// error takes its place.
enum class Answer { AsText, Awaited, Written };
std::atomic<Answer> answer_state = Answer::AsText;

std::atomic<bool> shortage_told = false;

std::optional<std::string> kept_output;

// A program whose reader has gone ends by SIGPIPE. Other failures are kept for
// end_output().
void write_failed(std::FILE* stream) {
  if (errno == EPIPE) {
    std::signal(SIGPIPE, SIG_DFL);
    std::raise(SIGPIPE);
  }
  if (stream == stdout && not_written == 0) {
    not_written = errno;
  }
}

void show_log_ring(const Palette& palette) {
  const auto lines = log::ring();
  if (lines.empty()) {
    return;
  }
  say(stderr, "{}\n",
      palette.dim("  last log lines (please report this as a bug):"));
  for (const std::string& line : lines) {
    say(stderr, "{}\n", palette.dim("  " + line));
  }
}

}  // namespace

Palette::Palette(ColourChoice choice, std::FILE* stream)
    : stream_(stream),
      colours_(choice == ColourChoice::Always ||
               (choice == ColourChoice::Auto &&
                ::isatty(::fileno(stream)) == 1 && !wants_no_colour())) {}

bool Palette::has_columns() const {
  return ::isatty(::fileno(stream_)) == 1;
}

std::string Palette::wrap(const char* code, std::string_view text) const {
  return colours_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text)
                  : std::string(text);
}

std::string foreign(std::string_view text) {
  return printable(text, Lines::Keep);
}

void print_foreign(std::FILE* stream, std::string_view text) {
  print_now(stream, foreign(text));
}

void answer_as_json() {
  answer_state = Answer::Awaited;
}

void answer_is_written() {
  answer_state = Answer::Written;
}

void print_json(const Json& answer) {
  answer_is_written();
  print_now(stdout, answer.dump() + "\n");
}

void print_text(std::FILE* stream,
                fmt::string_view text,
                fmt::format_args values) {
  const std::string made = fmt::vformat(text, values);
  if (stream == stdout && kept_output) {
    *kept_output += made;
    return;
  }
  if (std::fwrite(made.data(), 1, made.size(), stream) != made.size()) {
    write_failed(stream);
  }
}

void keep_output() {
  kept_output.emplace();
}

std::string take_kept_output() {
  return std::exchange(kept_output, std::nullopt).value_or(std::string());
}

void print_now(std::FILE* stream, std::string_view text) {
  const std::size_t put = std::fwrite(text.data(), 1, text.size(), stream);
  if (put != text.size() || std::fflush(stream) != 0) {
    write_failed(stream);
  }
}

void flush_output(std::FILE* stream) {
  if (std::fflush(stream) != 0) {
    write_failed(stream);
  }
}

int end_output(int code) {
  if (const int why = descriptors_refused) {
    const Error error{.message = "cannot open a file", .errno_value = why};
    code = shortage_told ? exit_code(ErrorId::OutOfResources)
                         : report(error, Palette(ColourChoice::Auto, stderr));
  }
  flush_output(stdout);
  if (std::ferror(stdout) == 0 && not_written == 0) {
    return code;
  }
  return report(
      {.id = ErrorId::OutputFailed,
       .message = fmt::format(
           "cannot write to standard output: {}",
           std::strerror(not_written != 0 ? not_written.load() : EIO))},
      Palette(ColourChoice::Auto, stderr));
}

int report(const Error& noticed, const Palette& palette) {
  const Error error = with_its_cause(noticed);
  shortage_told = shortage_told || error.id == ErrorId::OutOfResources;
  if (answer_state == Answer::Awaited) {
    print_json(encode(reports::NoAnswer{reported(error)}));
  } else {
    flush_output(stdout);
    say(stderr, "{} {}\n", palette.red("hangdbg:"), printable(error.text()));
    if (!error.hint.empty()) {
      say(stderr, "  try: {}\n", palette.bold(printable(as_typed(error.hint))));
    }
  }
  if (is_asked_by_node()) {
    say(stderr, "{}{}\n", kErrorMark, error_name(error.id));
  }
  if (error.id == ErrorId::System) {
    log::debug(log::Area::Client, "noticed at {}:{}", error.place.file_name(),
               error.place.line());
    show_log_ring(palette);
  }
  return exit_code(error.id);
}

std::string_view short_path(std::string_view path) {
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    if (const auto at = path.rfind(folder); at != path.npos) {
      return path.substr(at + folder.size());
    }
  }
  // .../lib/python3.11/threading.py
  constexpr std::string_view kLibrary = "/lib/python3.";
  if (const auto at = path.rfind(kLibrary); at != path.npos) {
    const auto digits = at + kLibrary.size();
    const auto end = path.find_first_not_of("0123456789t", digits);
    if (end != path.npos && end > digits && path[end] == '/') {
      return path.substr(end + 1);
    }
  }
  return path;
}

bool is_library_path(std::string_view path) {
  return path.starts_with("<frozen ") || short_path(path).size() != path.size();
}

std::string place_text(const dap::StackFrame& frame) {
  const std::string path =
      frame.source ? frame.source->path.value_or("?") : "?";
  return printable(
      fmt::format("{}({}){}()", short_path(path), frame.line, frame.name));
}

std::string listed_frame(std::string_view function,
                         std::string_view file,
                         int line,
                         bool full_filename,
                         const Palette& palette) {
  return fmt::format(
      "{} ({}:{})", printable(function),
      palette.cyan(printable(full_filename ? file : short_path(file))), line);
}

int terminal_columns() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return size.ws_col;
  }
  return 80;
}

int terminal_lines() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0) {
    return size.ws_row;
  }
  return 24;
}

std::string next_steps(const std::vector<SuggestedCommand>& steps,
                       const Palette& palette) {
  constexpr std::size_t kWidest = 44;  // what is longer moves no other's reason
  std::size_t width = 0;
  for (const SuggestedCommand& step : steps) {
    if (step.command.size() <= kWidest) {
      width = std::max(width, step.command.size());
    }
  }
  std::string text;
  for (const SuggestedCommand& step : steps) {
    const std::size_t used = std::min(step.command.size(), width);
    text += fmt::format("  try: {}{}    {}\n", palette.bold(step.command),
                        std::string(width - used, ' '), step.why);
  }
  return text;
}

}  // namespace hangdbg
