#include "client/options/default_target.h"

#include <fmt/core.h>

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
  for (const SurveyedProcess& process : all) {
    if (process.hangs_by_itself()) {
      hung.push_back(process.pid);
    }
  }
  if (hung.size() != 1) {
    return fail(
        ErrorId::Usage,
        hung.empty()
            ? "no PID given, and no Python process here hangs"
            : fmt::format("no PID given, and {} Python processes here hang",
                          hung.size()),
        "hangdbg ps");
  }
  say(stderr, "using process {}, the only one that hangs\n", hung.front());
  return hung.front();
}

}  // namespace hangdbg
