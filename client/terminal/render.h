// How things look: colours, what a terminal can be given, errors.
#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "protocol/stack_frame.h"

namespace hangdbg {

class Json;

enum class ColourChoice { Auto, Always, Never };

// What may be written to one stream: colours or none.
class Palette {
 public:
  // Auto: on a terminal, unless NO_COLOR is set (https://no-color.org) or the
  // terminal is a dumb one.
  Palette(ColourChoice choice, std::FILE* stream);

  std::FILE* stream() const { return stream_; }
  bool has_colours() const { return colours_; }
  // Whether it is a terminal, whose lines have an end.
  bool has_columns() const;

  std::string bold(std::string_view text) const { return wrap("1", text); }
  std::string dim(std::string_view text) const { return wrap("2", text); }
  std::string red(std::string_view text) const { return wrap("31", text); }
  std::string green(std::string_view text) const { return wrap("32", text); }
  std::string cyan(std::string_view text) const { return wrap("36", text); }

 private:
  std::string wrap(const char* code, std::string_view text) const;

  std::FILE* stream_;
  bool colours_;
};

// fmt::print() throws where a stream is closed or full. This continues: main()
// says in the end that what was to be written on stdout was not.
void print_text(std::FILE* stream,
                fmt::string_view text,
                fmt::format_args values);

template <class... T>
void say(std::FILE* stream, fmt::format_string<T...> text, T&&... values) {
  print_text(stream, text, fmt::make_format_args(values...));
}

template <class... T>
void say(fmt::format_string<T...> text, T&&... values) {
  print_text(stdout, text, fmt::make_format_args(values...));
}

// From now on what say() writes to stdout is kept; and all of that (pager.h).
void keep_output();
std::string take_kept_output();

// At once. When it has no reader any more (`hangdbg dump ... | head -1`),
// hangdbg ends as programs do: by SIGPIPE.
void print_now(std::FILE* stream, std::string_view text);

// What the target's code has printed or returned: what a terminal would obey,
// wherever stdout leads to, comes out escaped, but for the ends of lines and
// tabs. JSON has it as it is.
std::string foreign(std::string_view text);
void print_foreign(std::FILE* stream, std::string_view text);

// From now on, with --json, stdout holds one document: the answer, or else
// the error that report() is given.
void answer_as_json();
// The answer.
void print_json(const Json& answer);
// It has been, or will be, written in another way.
void answer_is_written();

// "hangdbg: cause" and "  try: next command" on stderr; for an unforeseen
// error (ErrorId::System) the log's last lines as well. Returns the exit
// code. With --json: {"error": ...} on stdout, unless the answer is there.
int report(const Error& error, const Palette& palette);

void flush_output(std::FILE* stream);

// What is left of stdout goes out. The exit code: `code`, or that of an error,
// which is said, if something could not be written, or descriptors ran out.
int end_output(int code);

// "torch/utils/file_baton.py": from site-packages or the standard library on;
// the whole path for other files.
std::string_view short_path(std::string_view path);

// Whether it is a file of the standard library or of an installed package.
bool is_library_path(std::string_view path);

// "torch/utils/file_baton.py(42)wait()"
std::string place_text(const dap::StackFrame& frame);

// "wait (torch/utils/file_baton.py:42)", as stacks are listed.
std::string listed_frame(std::string_view function,
                         std::string_view file,
                         int line,
                         bool full_filename,
                         const Palette& palette);

// Of the terminal that we write to; 80 by 24 where there is none.
int terminal_columns();
int terminal_lines();

// A command to type next, and what for.
struct SuggestedCommand {
  std::string command;
  std::string why;
};

// "  try: COMMAND    why", a line each, with the reasons below each other.
std::string next_steps(const std::vector<SuggestedCommand>& steps,
                       const Palette& palette);

}  // namespace hangdbg
