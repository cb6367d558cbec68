// Which cause a thread has: the first rule whose business it is.
#pragma once

#include <string_view>

#include "diagnosis/snapshot/case.h"
#include "diagnosis/snapshot/cause.h"

namespace hangdbg {

// "unknown", with what was ruled out, where no rule knows.
Cause cause_of(const Case& of, const CaseThread& thread);

// The same by the rules behind that one: what a rule's own finding is about.
Cause cause_behind(std::string_view rule,
                   const Case& of,
                   const CaseThread& thread);

}  // namespace hangdbg
