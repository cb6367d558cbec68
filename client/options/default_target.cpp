#include "client/options/default_target.h"

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <vector>

#include "client/terminal/render.h"
#include "diagnosis/survey/survey.h"

namespace hangdbg {

Result<int> chosen_process(const TargetOption& target, Deadline deadline) {
  const std::string& word =
      target.flag.empty() ? target.positional : target.flag;
  return word.empty() ? default_target(deadline) : parse_pid(word);
}

Result<int> default_target(Deadline deadline) {
  const auto all = TRY(survey(kHungAfterS, deadline));
  std::vector<int> hung;
  std::vector<int> blocked;  // for long
  for (const SurveyedProcess& process : all) {
    if (process.is_first()) {
      (process.hung() ? hung : blocked).push_back(process.pid);
    }
  }
  const std::vector<int>& meant = hung.empty() ? blocked : hung;
  const std::string_view how = hung.empty() ? "blocked" : "hung";
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
