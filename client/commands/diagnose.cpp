#include "client/commands/diagnose.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/in_time.h"
#include "base/text.h"
#include "client/only_hung.h"
#include "injector/preflight.h"
#include "inspector/diagnosis/diagnose.h"
#include "protocol/json.h"
#include "server/process_survey.h"

namespace hangdbg {
namespace {

struct Options {
  CommonOptions common;
  TargetOption target;
  double hung_after_s = kHungAfterS;
};

// As JSON has it.
struct JsonStep {
  std::string command, why;

  template <class V>
  void fields(V& v) {
    v("command", command);
    v("why", why);
  }
};

struct JsonLink {
  std::int64_t pid = 0, tid = 0;
  std::string who, place, state, id, sentence, standing;
  std::optional<double> waiting_s;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("tid", tid);
    v("who", who);
    v("place", place);
    v("state", state);
    v("cause", id);
    v("sentence", sentence);
    v("standing", standing);
    v.nullable("waiting_s", waiting_s);
  }
};

struct JsonDiagnosis {
  std::int64_t pid = 0;
  bool hung = false;
  std::string cause, sentence, standing, confidence;
  std::vector<std::string> evidence;
  std::vector<JsonStep> next;
  std::vector<JsonLink> chain, also;
  std::vector<std::string> skipped;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("hung", hung);
    v("cause", cause);
    v("sentence", sentence);
    v("standing", standing);
    v("confidence", confidence);
    v("evidence", evidence);
    v("next", next);
    v("chain", chain);
    v("also", also);
    v("skipped", skipped);
  }
};

int run(const Options& options);
Result<int> diagnose_one(const Options& options);
int print(const Options& options, const Diagnosis& found);
std::string text_of(const Diagnosis& found, const Palette& out);
JsonDiagnosis to_json(const Diagnosis& found);

}  // namespace

void add_diagnose(CLI::App& app, Run& chosen) {
  const auto options = std::make_shared<Options>();
  CLI::App& command =
      *app.add_subcommand("diagnose", "Say why it hangs, with the evidence");
  add_pid_option(command, options->target);
  command
      .add_option("--hung-after", options->hung_after_s,
                  "Who waits for so long hangs (default 10)")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 1e9).description(""));
  add_json_option(command, options->common);
  add_common_options(command, options->common);
  command.footer(
      "Follows who waits for whom: locks, threads, children, pipes, files, "
      "peers.\n"
      "No code runs in any process; one that runs stands still for some tens "
      "of\n"
      "microseconds.\n"
      "Without a PID the only process that hangs is meant.\n"
      "Examples:\n"
      "  hangdbg diagnose 79655\n"
      "  hangdbg diagnose 79655 --json");
  command.final_callback(
      [options, &chosen] { chosen = [options] { return run(*options); }; });
}

namespace {

int run(const Options& options) {
  const auto code = diagnose_one(options);
  return code ? *code
              : report(code.error(), Palette(options.common.colour, stderr));
}

Result<int> diagnose_one(const Options& options) {
  TRY(options.common.configure_log());
  const Deadline deadline = options.common.deadline();
  const int pid = TRY(chosen_process(options.target, deadline));
  TRY(check_readable(pid));
  // In time to tell what was found so far. It outlives a work that is left
  // behind.
  const auto world =
      std::make_shared<World>(deadline.capped(deadline.left() * 8 / 10));
  return in_time<Result<Diagnosis>>(
      deadline, [&] { return diagnose(*world, pid, options.hung_after_s); },
      [&](std::optional<Result<Diagnosis>> found) {
        const Palette err(options.common.colour, stderr);
        if (!found) {
          return report(
              {.id = ErrorId::TimedOut,
               .message = fmt::format(
                   "process {} could not be looked at in time", pid),
               .hint = fmt::format("hangdbg diagnose {} --timeout 60", pid)},
              err);
        }
        return *found ? print(options, **found) : report(found->error(), err);
      });
}

int print(const Options& options, const Diagnosis& found) {
  print_now(stdout,
            options.common.json
                ? encode(to_json(found)).dump() + "\n"
                : text_of(found, Palette(options.common.colour, stdout)));
  return 0;
}

std::string text_of(const Diagnosis& found, const Palette& out) {
  const Link& last = found.chain[found.root];
  const std::string subject =
      found.cause.id == "deadlock" || found.cause.id == "subprocess-pipe"
          ? ""
          : last.who + " ";
  const std::string head = printable(fmt::format(
      "{} {}: {}{}", found.title, found.hung ? "hangs" : "does not hang",
      subject, found.cause.sentence));
  std::string text = (found.hung ? out.red(head) : out.bold(head)) + "\n";
  text +=
      out.dim(fmt::format("  {} · {}", confidence_name(found.cause.confidence),
                          found.cause.id)) +
      "\n";
  if (found.chain.size() > 1) {
    text += out.bold("who waits for whom") + "\n";
    for (const Link& link : found.chain) {
      text += fmt::format("  {}\n    {} · {}\n",
                          printable(link.who + " " + link.cause.sentence),
                          link.state, printable(link.place));
    }
  } else {
    text += fmt::format("  {} · {}\n", last.state, printable(last.place));
  }
  text += out.bold("evidence") + "\n";
  for (const std::string& evidence : found.cause.evidence) {
    text += fmt::format("  {}\n", printable(evidence));
  }
  for (const Link& link : found.also) {
    text += fmt::format("also: {}\n",
                        printable(link.who + " " + link.cause.sentence));
  }
  for (const std::string& skipped : found.skipped) {
    text += out.dim(fmt::format("not seen: {}", printable(skipped))) + "\n";
  }
  for (const NextStep& step : found.cause.next) {
    text += fmt::format("try: {}    {}\n", out.bold(printable(step.command)),
                        printable(step.why));
  }
  return text;
}

JsonLink to_json(const Link& link) {
  return {.pid = link.id.pid,
          .tid = link.id.tid,
          .who = link.who,
          .place = link.place,
          .state = link.state,
          .id = link.cause.id,
          .sentence = link.cause.sentence,
          .standing = std::string(standing_name(link.cause.standing)),
          .waiting_s = link.waiting_s};
}

JsonDiagnosis to_json(const Diagnosis& found) {
  const Cause& cause = found.cause;
  JsonDiagnosis json{
      .pid = found.pid,
      .hung = found.hung,
      .cause = cause.id,
      .sentence = cause.sentence,
      .standing = std::string(standing_name(cause.standing)),
      .confidence = std::string(confidence_name(cause.confidence)),
      .evidence = cause.evidence,
      .skipped = found.skipped};
  for (const NextStep& step : cause.next) {
    json.next.push_back({step.command, step.why});
  }
  for (const Link& link : found.chain) {
    json.chain.push_back(to_json(link));
  }
  for (const Link& link : found.also) {
    json.also.push_back(to_json(link));
  }
  return json;
}

}  // namespace
}  // namespace hangdbg
