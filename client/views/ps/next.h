// What is below the table of `ps`, on stderr: how many hang, why, and what to
// type next.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "client/terminal/render.h"
#include "diagnosis/survey/survey.h"
#include "inspector/jobs/choice.h"

namespace hangdbg {

// `causes_by`: say why they hang, too, as `hangdbg` alone does, by then.
std::string next_text(const std::vector<SurveyedProcess>& processes,
                      const Jobs& jobs,
                      std::optional<Deadline> causes_by,
                      const Palette& err);

// Whether we lack the right to look into it.
bool is_denied(const SurveyedProcess& process);

}  // namespace hangdbg
