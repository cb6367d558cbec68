// A seccomp filter, run by us on calls that have not been made.
//
// A filter is a classic BPF program over struct seccomp_data (seccomp(2)). We
// know some of a call's arguments and cannot know others (pointers, the numbers
// of descriptors), so a word may be unknown here; where a jump depends on one,
// both ways are followed and the worse answer counts. What this says is allowed
// is allowed whatever those words will be.
#pragma once

#include <linux/filter.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace hangdbg {

// What a filter answers to a call, from good to bad.
enum class CallOutcome {
  Allowed,
  Fails,  // with an errno; nothing else happens
  Asks,   // a supervisor that may never answer
  Kills,  // or raises SIGSYS
};

struct CallVerdict {
  CallOutcome outcome = CallOutcome::Allowed;
  int errno_value = 0;  // of Fails; 0: it is not always the same

  bool allowed() const { return outcome == CallOutcome::Allowed; }
  bool operator==(const CallVerdict&) const = default;
};

// An argument of a call: its two halves, each known or not.
struct CallArgument {
  std::optional<std::uint32_t> low;
  std::optional<std::uint32_t> high;
};

using FilterProgram = std::vector<sock_filter>;

// All filters of a thread together; they are run one after the other and the
// strictest answer counts. A program that breaks the kernel's rules, or has
// more ways through than we follow, is taken to kill.
CallVerdict judge_call(std::span<const FilterProgram> filters,
                       long number,
                       const std::array<CallArgument, 6>& arguments);

}  // namespace hangdbg
