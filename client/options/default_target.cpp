#include "client/options/default_target.h"

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "client/terminal/render.h"
#include "client/terminal/typed.h"
#include "diagnosis/survey/survey.h"

namespace hangdbg {

Result<int> chosen_process(const TargetOption& target, Deadline deadline) {
  const std::string& word =
      target.flag.empty() ? target.positional : target.flag;
  return word.empty() ? default_target(deadline) : parse_pid(word);
}

Result<int> chosen_process(const TargetOption& target,
                           const JobOptions& job,
                           std::string_view command,
                           Deadline deadline) {
  if (!job.given()) {
    return chosen_process(target, deadline);
  }
  const std::string name = job.job.empty() ? "auto" : job.job;
  if (!target.flag.empty() || !target.positional.empty()) {
    return fail(
        ErrorId::Usage, "a PID and --job cannot be combined",
        fmt::format(
            "hangdbg {} --job {}{}", command, shell_quote(name),
            job.ranks.empty() ? "" : " --ranks " + shell_quote(job.ranks)));
  }
  const ChosenRanks chosen = TRY(choose_ranks(job, deadline));
  if (chosen.ranks.size() != 1) {
    return fail(
        ErrorId::Usage,
        fmt::format("{} is for one process, and {} ranks are named", command,
                    chosen.ranks.size()),
        fmt::format("hangdbg {} --job {} --ranks {}", command,
                    shell_quote(name),
                    chosen.ranks.empty() ? 0 : chosen.ranks.front().rank));
  }
  return chosen.ranks.front().pid;
}

Result<int> default_target(Deadline deadline) {
  const auto all = TRY(survey(kHungAfterS, deadline));
  std::vector<int> hung;
  std::vector<int> blocked;  // for long
  std::size_t denied = 0;
  for (const SurveyedProcess& process : all) {
    denied += process.error && process.error->id == ErrorId::NotPermitted;
    if (process.is_first()) {
      (process.hung() ? hung : blocked).push_back(process.pid);
    }
  }
  const std::vector<int>& meant = hung.empty() ? blocked : hung;
  const std::string_view how = hung.empty() ? "blocked" : "hung";
  if (meant.empty() && denied > 0) {
    return fail(ErrorId::Usage,
                fmt::format("no PID given, and no Python process that this "
                            "user may inspect hangs or is blocked; {} may not "
                            "be inspected",
                            denied),
                "sudo " + typed_command());
  }
  if (meant.size() != 1) {
    return fail(
        ErrorId::Usage,
        meant.empty()
            ? "no PID given, and no Python process here hangs or is blocked"
            : fmt::format("no PID given, and {} Python processes here are {}",
                          meant.size(), how),
        "hangdbg ps");
  }
  say(stderr, "using process {}, the only one that is {}\n", meant.front(),
      how);
  return meant.front();
}

}  // namespace hangdbg
