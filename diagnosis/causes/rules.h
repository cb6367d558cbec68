// Which cause a thread has: the first rule that applies.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "diagnosis/snapshot/cause.h"
#include "diagnosis/snapshot/process_snapshot.h"

namespace hangdbg {

// "unknown", with what was ruled out, where no rule knows.
Cause cause_of(const ProcessSnapshot& of, const ThreadSnapshot& thread);

using Rule = std::optional<Cause> (*)(const ProcessSnapshot& of,
                                      const ThreadSnapshot& thread);

struct NamedRule {
  std::string_view name;  // in the list of what was ruled out
  Rule find;
};
// In the order in which they are tried.
std::span<const NamedRule> rules();

// The same, of a later look than the snapshot's: without the refinements, which
// the snapshot's cause gets.
Cause cause_by_rules(const ProcessSnapshot& of, const ThreadSnapshot& thread);

// The same by the rules behind the calling one (causes.h): for what its own
// finding is about.
Cause cause_by_later_rules(Rule rule,
                           const ProcessSnapshot& of,
                           const ThreadSnapshot& thread);

}  // namespace hangdbg
