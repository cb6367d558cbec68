#include "tracee/proc/proc_usage.h"

#include "base/text.h"
#include "tracee/proc/proc_file.h"

namespace hangdbg {

Result<ProcUsage> read_usage(int pid) {
  return parse_usage(TRY(read_proc_record(pid, "status")));
}

ProcUsage parse_usage(std::string_view status) {
  ProcUsage usage;
  for (const std::string_view line : split(status, '\n')) {
    const auto words = split_words(line);
    if (words.size() < 2) {
      continue;
    }
    const auto decimal = parse_number<std::uint64_t>(words[1]).value_or(0);
    const auto mask = parse_number<std::uint64_t>(words[1], 16).value_or(0);
    if (words[0] == "SigPnd:") {
      usage.pending = mask;
    } else if (words[0] == "ShdPnd:") {
      usage.shared_pending = mask;
    } else if (words[0] == "VmRSS:") {
      usage.resident_kib = decimal;
    } else if (words[0] == "VmSwap:") {
      usage.swapped_kib = decimal;
    }
  }
  return usage;
}

}  // namespace hangdbg
