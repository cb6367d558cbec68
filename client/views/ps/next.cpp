#include "client/views/ps/next.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/text.h"
#include "client/terminal/typed.h"
#include "client/terminal/wrap.h"
#include "client/views/ps/causes.h"
#include "inspector/jobs/choice.h"

namespace hangdbg {
namespace {

using Processes = std::vector<SurveyedProcess>;

std::string when_none_is_there(const Palette& err) {
  return "no Python process found\n" +
         next_steps(
             {{"hangdbg run train.py", "start a script under the debugger"},
              {"hangdbg doctor", "check whether attaching is possible"},
              {"hangdbg help", "list all commands"}},
             err);
}

// "1 of 13 processes hangs, 2 are blocked"
std::string counts(const Processes& processes) {
  const auto hung = std::ranges::count_if(processes, &SurveyedProcess::hung);
  const auto blocked =
      std::ranges::count_if(processes, &SurveyedProcess::stalled) - hung;
  // Of one whose Python is not read that is unknown.
  const auto seen = std::ranges::count_if(processes, [](const auto& one) {
    return one.found.has_value() &&
           !(one.error && one.found->state == Progress::Unknown);
  });
  const std::string of =
      fmt::format("{} process{}", seen, seen == 1 ? "" : "es");
  if (seen == 0) {
    return "whether any of them hangs cannot be told from here";
  }
  std::string text = hung == 0 ? fmt::format("no hang found in {}", of)
                               : fmt::format("{} of {} hang{}", hung, of,
                                             hung == 1 ? "s" : "");
  if (blocked > 0) {
    text +=
        fmt::format(", {} {} blocked", blocked, blocked == 1 ? "is" : "are");
  }
  return text;
}

std::string jobs_text(const Jobs& jobs, const Palette& err) {
  std::string text;
  for (const Job& job : jobs.jobs) {
    text += fmt::format(
        "{}: {} on this machine{}\n", job_text(job), job.ranks.size(),
        job.elsewhere.empty() ? "" : ", others on other machines");
    for (const std::string& finding : findings(job)) {
      text += "  " + err.red(finding) + "\n";
    }
    const std::string name = jobs.jobs.size() == 1 ? "auto"
                             : job.launcher ? fmt::format("{}", *job.launcher)
                                            : shell_quote(job.id);
    text += next_steps({{fmt::format("hangdbg dump --job {} --merge", name),
                         "one tree of all stacks, outliers first"}},
                       err);
  }
  return text;
}

// Those for the same reason together, by the error of the first.
std::string denied_text(const Processes& processes, const Palette& err) {
  std::vector<const SurveyedProcess*> denied;
  for (const SurveyedProcess& process : processes) {
    if (is_denied(process)) {
      denied.push_back(&process);
    }
  }
  if (denied.empty()) {
    return {};
  }
  const Error& why = *denied.front()->error;
  const std::string text =
      denied.size() == 1
          ? fmt::format("1 process cannot be read: {}", why.text())
          : fmt::format("{} processes cannot be read: {}", denied.size(),
                        why.text());
  const auto columns = static_cast<std::size_t>(terminal_columns());
  return (err.has_columns() ? wrap_words(printable(text), columns, 2, 0)
                            : printable(text)) +
         "\n" +
         (why.hint.empty()
              ? ""
              : "  try: " + err.bold(printable(as_typed(why.hint))) + "\n");
}

}  // namespace

std::string next_text(const Processes& processes,
                      const Jobs& jobs,
                      std::optional<Deadline> causes_by,
                      const Palette& err) {
  if (processes.empty()) {
    return when_none_is_there(err);
  }
  std::string text = "\n" + counts(processes) + "\n";
  if (const std::size_t more = unjudged(processes); more > 0) {
    text += fmt::format("{} not checked: timeout\n", more) +
            next_steps({{typed_with("--timeout", "60"), "check all"}}, err);
  }
  std::set<std::string> notes;
  for (const SurveyedProcess& process : processes) {
    if (!process.note.empty() && notes.insert(process.note).second) {
      text += process.note + "\n";
    }
  }
  text += jobs_text(jobs, err);
  const bool any = std::ranges::any_of(processes, &SurveyedProcess::stalled);
  const int pid = processes.front().pid;
  if (causes_by) {
    text += causes_text(processes, jobs, *causes_by, err);
  } else if (any) {
    text += next_steps(
        {{fmt::format("hangdbg diagnose {}", pid), "why it waits"},
         {fmt::format("hangdbg attach {}", pid), "a prompt in the hung frame"}},
        err);
  }
  const std::string denied = denied_text(processes, err);
  if (!any && denied.empty()) {
    text += next_steps({{fmt::format("hangdbg diagnose {}", pid),
                         "watch it for longer: loops, polling threads"},
                        {fmt::format("hangdbg dump {}", pid), "its stacks"},
                        {"hangdbg help", "list all commands"}},
                       err);
  }
  return text + denied;
}

bool is_denied(const SurveyedProcess& process) {
  return process.error && exit_code(process.error->id) == 3;
}

}  // namespace hangdbg
