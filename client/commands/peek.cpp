#include "client/commands/peek.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "base/run_with_deadline.h"
#include "base/text.h"
#include "client/nodes/each_node.h"
#include "client/options/expression_args.h"
#include "client/ranks/answers.h"
#include "client/terminal/reported.h"
#include "client/terminal/typed.h"
#include "injector/checks/preflight.h"
#include "inspector/cpython/expressions/peek.h"
#include "inspector/cpython/runtime/python_process.h"
#include "inspector/cpython/stacks/core_target.h"
#include "inspector/jobs/jobs.h"
#include "inspector/snapshot/shown_thread.h"
#include "protocol/json.h"
#include "protocol/reports/error.h"
#include "protocol/reports/peek.h"
#include "tracee/elf/core_file.h"

namespace hangdbg {
namespace {

constexpr int kPeekTries = 5;  // at a frame that keeps returning

struct PeekOptions : Question {
  CoreFile::Options where;  // of a core file in place of a PID
};

int run(const PeekOptions& options);
bool is_file(const std::string& word);
Result<Expression> parse(const PeekOptions& options);
Result<reports::Peeked> peek_at_core(const PeekOptions& options,
                                     const Expression& expression);
Result<reports::Peeked> peek_at_process(int pid,
                                        const Expression& expression,
                                        const PlaceOptions& place);
int show(const PeekOptions& options, Result<reports::Peeked> answer);
Result<reports::Peeked> peek_at(const Target& target,
                                const Expression& expression,
                                const PlaceOptions& place);
Result<const PythonFrame*> frame_of(const FoundThread& found,
                                    const FrameSelector& choice);
Error with_command(Error error, const PeekOptions& options);

}  // namespace

void add_peek(cli::Command program) {
  const auto options = std::make_shared<PeekOptions>();
  const cli::Command command = program.add_command(
      "peek", "Read a variable without running code in the target");
  add_question(command, *options, "Expression, in a subset of Python");
  command
      .add_option(
          "--sysroot", options->where.sysroot,
          "For a core file in place of a PID: find its libraries below DIR")
      .type_name("DIR");
  command.footer(
      "Examples:\n"
      "  hangdbg peek 79655 self.lock_file_path\n"
      "  hangdbg peek 79655 'queue[-1][\"step\"] == 12' --thread worker-3\n"
      "  hangdbg peek 79655 'len(batches)' --frame 2 --json\n"
      "  hangdbg peek --job auto self.lock_file_path\n"
      "  hangdbg peek ./core.79655 self.lock_file_path\n"
      "\n"
      "Understands names, attributes, items, slices, len() and one comparison. "
      "Reads memory and runs no code in the process, so it works while the GIL "
      "is held and in a stopped process, and shows neither properties nor a "
      "__repr__ of the program.");
  command.runs(run_via(options->via, options->common,
                       [options] { return run(*options); }));
}

namespace {

int run(const PeekOptions& options) {
  if (options.job.given()) {
    const auto code = ask_ranks("peek", options);
    return code ? *code
                : report(code.error(), Palette(options.common.colour, stderr));
  }
  auto expression = parse(options);
  if (!expression) {
    return show(options, std::unexpected(std::move(expression).error()));
  }
  if (is_file(options.pid())) {
    return show(options, peek_at_core(options, *expression));
  }
  const auto pid = parse_pid(options.pid());
  if (!pid) {
    return show(options, std::unexpected(pid.error()));
  }
  return run_with_deadline<Result<reports::Peeked>>(
      options.common.deadline(),
      [&] { return peek_at_process(*pid, *expression, options.place); },
      [&](std::optional<Result<reports::Peeked>> answer) {
        return show(options, answer ? *std::move(answer)
                                    : std::unexpected(not_read_in_time(*pid)));
      });
}

int show(const PeekOptions& options, Result<reports::Peeked> answer) {
  if (answer) {
    if (options.common.json) {
      print_json(encode(*answer));
    } else {
      print_foreign(stdout, *answer->repr + "\n");
      if (answer->note) {
        say(stderr, "{}\n", *answer->note);
      }
    }
    return 0;
  }
  const Error error = with_command(std::move(answer).error(), options);
  if (!options.common.json) {
    return report(error, Palette(options.common.colour, stderr));
  }
  reports::Peeked failed;
  failed.pid = parse_number<std::int64_t>(options.pid());
  failed.error = reported(error);
  print_json(encode(failed));
  return exit_code(error.id);
}

// A number is a process, whatever files there are.
bool is_file(const std::string& word) {
  return !parse_number<int>(word) && ::access(word.c_str(), F_OK) == 0;
}

Result<Expression> parse(const PeekOptions& options) {
  TRY(options.common.configure_log());
  if (options.expression().empty()) {
    return fail(ErrorId::Usage, missing_words(options), "hangdbg peek --help");
  }
  return parse_expression(options.expression());
}

Result<reports::Peeked> peek_at_core(const PeekOptions& options,
                                     const Expression& expression) {
  const CoreFile core = TRY(CoreFile::open(options.pid(), options.where));
  return peek_at(*TRY(CoreTarget::open(core)), expression, options.place);
}

// One in D state can hold us up for ever.
Result<reports::Peeked> peek_at_process(int pid,
                                        const Expression& expression,
                                        const PlaceOptions& place) {
  TRY(check_readable(pid));
  const PythonProcess process = TRY(open_python(pid));
  reports::Peeked answer = TRY(peek_at(LiveTarget(process), expression, place));
  if (const auto rank = own_rank(pid)) {
    answer.rank = rank->rank;
  }
  return answer;
}

// A frame may return between the look at the stack and at its variables.
Result<reports::Peeked> peek_at(const Target& target,
                                const Expression& expression,
                                const PlaceOptions& place) {
  for (int tries = 1;; ++tries) {
    const FoundThread found = TRY(find_thread(target, place.thread));
    const PythonFrame& frame = *TRY(frame_of(found, place.frame));
    auto opened = ObjectReader::open_values(target.memory, target.python);
    if (!opened) {
      return std::unexpected(
          name_process(target.pid, std::move(opened).error()));
    }
    const ObjectReader objects = *std::move(opened);
    objects.allow_reads(kReadsOfASearch);
    auto peeked = peek(objects, frame, expression, kFullRepr);
    if (peeked) {
      return reports::Peeked{
          .pid = target.pid,
          .thread = found.thread.tid,
          .frame = reports::Place{frame.function, frame.file, frame.line},
          .exact = found.stack.exact,
          .note = target.python.unknown
                      ? std::optional(trust_note(target.python))
                      : std::nullopt,
          .type = std::move(peeked->type),
          .repr = std::move(peeked->text)};
    }
    if (peeked.error().id != ErrorId::Unreadable || tries == kPeekTries) {
      return std::unexpected(std::move(peeked).error());
    }
  }
}

Result<const PythonFrame*> frame_of(const FoundThread& found,
                                    const FrameSelector& choice) {
  std::vector<FrameName> names;
  for (const PythonFrame& frame : found.stack.frames) {
    names.push_back({frame.qualname, frame.file});
  }
  return &found.stack.frames[TRY(choice.find(
      names, fmt::format("thread {} \"{}\"", found.thread.tid.value_or(0),
                         printable(found.name))))];
}

// The hint where no process is known: kEvalHint.
// As Python would raise it: a name that is not there is among those of another
// frame, and what memory does not show the program's own code may know.
Error with_command(Error error, const PeekOptions& options) {
  const bool core = is_file(options.pid());
  const bool raised =
      error.id == ErrorId::ExpressionFailed && error.hint.empty();
  const bool by_code = error.hint == kEvalHint ||
                       (raised && (error.message.starts_with("Attribute") ||
                                   error.message.starts_with("Type")));
  if (by_code && !core) {
    error.hint = typed_as("eval");
  } else if (error.hint == kEvalHint) {
    error.hint = "hangdbg peek --help";
  } else if (raised) {
    error.hint = fmt::format("hangdbg {} {} --locals", core ? "core" : "dump",
                             shell_quote(options.pid()));
  }
  return error;
}

}  // namespace
}  // namespace hangdbg
