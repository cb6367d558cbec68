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
        fmt::format("no PID is given, and {} of the Python processes here "
                    "hang{}",
                    hung.empty() ? "none" : fmt::format("{}", hung.size()),
                    hung.empty() ? "s" : ""),
        "hangdbg ps");
  }
  say(stderr, "process {} is meant, the only one that hangs here\n",
      hung.front());
  return hung.front();
}

}  // namespace hangdbg
