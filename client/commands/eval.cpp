#include "client/commands/eval.h"

#include <fmt/core.h>

#include <memory>
#include <utility>

#include "base/text.h"
#include "client/nodes/each_node.h"
#include "client/options/expression_args.h"
#include "client/prompt/place.h"
#include "client/ranks/answers.h"
#include "client/terminal/interrupt.h"
#include "client/terminal/render.h"
#include "client/terminal/reported.h"
#include "client/terminal/typed.h"
#include "inspector/cpython/expressions/expression.h"
#include "inspector/jobs/jobs.h"
#include "protocol/events/output.h"
#include "protocol/reports/error.h"
#include "protocol/reports/eval.h"
#include "protocol/requests/evaluate.h"
#include "server/session/hung_thread.h"
#include "server/session/session.h"

namespace hangdbg {
namespace {

constexpr int kEvalTries = 5;  // at a frame that keeps returning

struct EvalOptions : Question {
  bool timings = false;
};

int run(const EvalOptions& options);
Status evaluate(const EvalOptions& options, reports::Evaluation& answer);
Result<dap::Response> ask(const EvalOptions& options,
                          Session& session,
                          reports::Evaluation& answer,
                          Deadline deadline);
Result<Place> find_place(const EvalOptions& options,
                         Session& session,
                         reports::Evaluation& answer,
                         Deadline deadline);
void show_value(const dap::Evaluate::Body& body);
Error explain(const dap::Response& response, reports::Evaluation& answer);
void show_exception(const reports::Exception& exception);
void on_output(const dap::Event& event, bool json, reports::Evaluation& answer);

}  // namespace

void add_eval(cli::Command program) {
  const auto options = std::make_shared<EvalOptions>();
  const cli::Command command = program.add_command(
      "eval", "Evaluate an expression, or run statements, in the hung frame");
  add_question(command, *options, "Expression, or statements, in Python");
  command.add_flag(
      "--keep", options->keep,
      "Keep the names that this binds for later sessions (del NAME "
      "with --keep removes one)");
  command.add_flag("--timings", options->timings).hidden();
  command.footer(
      "Examples:\n"
      "  hangdbg eval 79655 self.lock_file_path\n"
      "  hangdbg eval 79655 'len(queue)' --thread worker-3 --frame 1 --json\n"
      "  hangdbg eval --job auto --ranks 0-3 step\n"
      "  hangdbg eval 79655 --keep 'import gc; n = len(gc.get_objects())'\n"
      "  hangdbg eval 79655 -- -x     an expression that begins with a dash\n"
      "\n"
      "Runs code in the process: what the expression changes stays changed. "
      "`hangdbg peek` reads a variable without running code.");
  command.runs(run_via(options->via, options->common,
                       [options] { return run(*options); }));
}

namespace {

int run(const EvalOptions& options) {
  const Palette err(options.common.colour, stderr);
  if (options.job.given()) {
    const auto code = ask_ranks("eval", options);
    return code ? *code : report(code.error(), err);
  }
  reports::Evaluation answer;
  const Status done = evaluate(options, answer);
  if (!options.common.json) {
    if (done || answer.error) {
      if (answer.error) {
        show_exception(*answer.error);
      }
      return done ? 0 : exit_code(done.error().id);
    }
    return report(done.error(), err);
  }
  if (!done && !answer.error) {
    reports::ReportedError why = reported(done.error());
    answer.error = reports::Exception{
        std::move(why.type), std::move(why.message), std::move(why.hint), {}};
  }
  print_json(encode(answer));
  return done ? 0 : exit_code(done.error().id);
}

// An exception of the expression is in `answer` when it fails with
// ExpressionFailed.
Status evaluate(const EvalOptions& options, reports::Evaluation& answer) {
  TRY(options.common.configure_log());
  if (options.expression().empty()) {
    return fail(ErrorId::Usage, missing_words(options), "hangdbg eval --help");
  }
  const int pid = TRY(parse_pid(options.pid()));
  const Deadline deadline = options.common.deadline();
  answer.pid = pid;

  const bool json = options.common.json;
  auto session =
      TRY(Session::attach(pid,
                          {.on_event =
                               [&](const dap::Event& event) {
                                 on_output(event, json, answer);
                                 return true;
                               },
                           .on_notice =
                               [](const std::string& notice) {
                                 say(stderr, "{}\n", printable(notice));
                               }},
                          deadline));
  if (const auto rank = json ? own_rank(pid) : std::nullopt) {
    answer.rank = rank->rank;
  }
  const Interruptible interruptible(*session);
  session->allow_outside(false);
  auto asked = ask(options, *session, answer, deadline);
  if (!asked && asked.error().id == ErrorId::GilHeld) {
    // Where it would have been evaluated can be told all the same, and of some
    // expressions what they are.
    session->allow_outside(true);
    (void)find_place(options, *session, answer, deadline);
    if (parse_expression(options.expression())) {
      asked.error().hint = fmt::format("hangdbg peek {} {}", pid,
                                       shell_quote(options.expression()));
    }
  }
  const auto response = TRY(asked);
  if (options.timings) {
    answer.timings = reports::Timings{session->steps().microseconds()};
  }
  if (!response.success) {
    return std::unexpected(explain(response, answer));
  }
  const auto body = TRY(dap::body_of<dap::Evaluate>(response));
  answer.type = body.type;
  answer.repr = body.result;
  if (!json) {
    show_value(body);
  }
  return {};
}

// A frame may return between the look at the stack and the question; nothing
// has run then, and the place is looked up again.
Result<dap::Response> ask(const EvalOptions& options,
                          Session& session,
                          reports::Evaluation& answer,
                          Deadline deadline) {
  for (int tries = 1;; ++tries) {
    const Place place = TRY(find_place(options, session, answer, deadline));
    if (Interruptible::take()) {
      return fail(ErrorId::Interrupted, "interrupted");
    }
    auto response = TRY(session.call_raw(
        std::string(dap::Evaluate::command),
        encode(dap::Evaluate::Arguments{
            .expression = options.expression(),
            .frame_id = place.frame().id,
            .keep = options.keep ? std::optional(true) : std::nullopt}),
        deadline));
    if (response.success || tries == kEvalTries ||
        error_of(response).id != ErrorId::NoSuchFrame) {
      return response;
    }
  }
}

Result<Place> find_place(const EvalOptions& options,
                         Session& session,
                         reports::Evaluation& answer,
                         Deadline deadline) {
  auto thread = TRY(choose_thread(session, options.place.thread, deadline));
  auto place = TRY(Place::at(std::move(thread), options.place.frame));
  const dap::StackFrame& frame = place.frame();
  answer.thread = place.thread().tid;
  answer.frame = reports::Place{
      frame.name, frame.source ? frame.source->path.value_or("") : "",
      frame.line};
  return place;
}

// As at Python's prompt: nothing for None.
void show_value(const dap::Evaluate::Body& body) {
  const auto detail = body.hangdbg.value_or(dap::EvaluateDetail{});
  if (!detail.none) {
    print_foreign(stdout, body.result + "\n");
  }
  if (detail.truncated > 0) {
    flush_output(stdout);
    say(stderr, "hangdbg: {} more characters omitted\n", detail.truncated);
  }
}

Error explain(const dap::Response& response, reports::Evaluation& answer) {
  Error error = error_of(response);
  if (error.id != ErrorId::ExpressionFailed) {
    return error;
  }
  reports::Exception exception{"", error.message, std::nullopt, {}};
  if (const auto body = decode<dap::ErrorBody>(response.body);
      body && body->hangdbg) {
    exception.type = body->hangdbg->type.value_or("");
    exception.traceback =
        body->hangdbg->traceback.value_or(std::vector<std::string>());
  }
  // The one line is "type: message", or the type alone.
  if (exception.message.starts_with(exception.type)) {
    exception.message.erase(0, exception.type.size());
    if (exception.message.starts_with(": ")) {
      exception.message.erase(0, 2);
    }
  }
  answer.error = std::move(exception);
  return error;
}

// As Python prints it; without frames, if there is none but the expression
// itself.
void show_exception(const reports::Exception& exception) {
  flush_output(stdout);
  const auto& lines = exception.traceback;
  const bool only_the_expression =
      std::ranges::none_of(lines, [](std::string_view line) {
        return line.starts_with("  File ") &&
               line.find("\"<expression>\"") == line.npos;
      });
  const bool has_frames =
      !lines.empty() && lines.front().starts_with("Traceback");
  for (const std::string& line : lines) {
    const bool frame_line =
        line.starts_with("Traceback") || line.starts_with("  File ");
    if (!(has_frames && only_the_expression && frame_line)) {
      say(stderr, "{}\n", foreign(line));
    }
  }
  if (lines.empty()) {
    say(stderr, "{}: {}\n", foreign(exception.type),
        foreign(exception.message));
  }
}

void on_output(const dap::Event& event,
               bool json,
               reports::Evaluation& answer) {
  if (event.event != dap::Output::event) {
    return;
  }
  const auto body = dap::body_of<dap::Output>(event);
  if (!body) {
    return;
  }
  const bool to_stderr = body->category == "stderr";
  if (json && !to_stderr) {
    answer.output += body->output;
    return;
  }
  print_foreign(to_stderr ? stderr : stdout, body->output);
}

}  // namespace
}  // namespace hangdbg
