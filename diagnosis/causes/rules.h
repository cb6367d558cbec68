// Which cause a thread has: the first rule whose business it is.
#pragma once

#include <optional>

#include "diagnosis/snapshot/case.h"
#include "diagnosis/snapshot/cause.h"

namespace hangdbg {

// "unknown", with what was ruled out, where no rule knows.
Cause cause_of(const Case& of, const CaseThread& thread);

using Rule = std::optional<Cause> (*)(const Case& of, const CaseThread& thread);

// The same by the rules behind that one (causes.h), which asks: what its own
// finding is about.
Cause cause_behind(Rule rule, const Case& of, const CaseThread& thread);

}  // namespace hangdbg
