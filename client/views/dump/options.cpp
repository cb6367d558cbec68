#include "client/views/dump/options.h"

#include <fmt/core.h>

#include "base/text.h"

namespace hangdbg {
namespace {

constexpr int kMostDepth = 100;  // of locals
constexpr int kMostLines = 1000;
constexpr int kSourceLines = 11;  // as gdb's py-list shows

// Of a flag that may have a value.
Result<int> number(const std::string& flag,
                   const std::string& value,
                   int least,
                   int most) {
  const auto number = parse_number<int>(value);
  if (!number || *number < least || *number > most) {
    return fail(ErrorId::Usage,
                fmt::format("{}: {} is not a number from {} to {}", flag,
                            printable(value), least, most),
                "hangdbg dump --help");
  }
  return *number;
}

}  // namespace

void add_shown_options(cli::Command command, ShownOptions& options) {
  command.add_flag(
      "-l,--locals", options.locals,
      "Show local variables; =DEPTH: levels of nested values (default 2)");
  command.add_flag("-n,--native", options.native,
                   "Show C and C++ functions, too");
  command.add_flag("--native-all", options.native_all,
                   "Like --native, and show threads that run no Python");
  command.add_flag(
      "--tasks", options.tasks,
      "Show unfinished asyncio tasks, what each awaits, and greenlets");
  command.add_flag(
      "--source", options.source,
      "Show source lines of each frame; =LINES: how many (default 11)");
  command.add_flag("--full-filenames", options.full_filenames,
                   "Show paths in full");
}

Result<DumpOptions> ShownOptions::dump_options() const {
  DumpOptions shown{
      .native = native || native_all, .native_all = native_all, .tasks = tasks};
  if (!locals.empty()) {
    shown.locals.emplace();
    if (locals != "true") {
      shown.locals->depth = static_cast<std::size_t>(
          TRY(number("--locals", locals, 0, kMostDepth)));
    }
  }
  return shown;
}

Result<DumpStyle> ShownOptions::style() const {
  DumpStyle style{.full_filenames = full_filenames};
  if (!source.empty()) {
    style.source_lines = source == "true"
                             ? kSourceLines
                             : TRY(number("--source", source, 1, kMostLines));
  }
  return style;
}

}  // namespace hangdbg
