#include "tracee/proc/proc_limits.h"

#include "base/text.h"
#include "tracee/proc/proc_file.h"

namespace hangdbg {

Result<ProcLimits> read_limits(int pid) {
  return parse_limits(TRY(read_proc_file(pid, "limits")));
}

// "Max open files            1024                 524288               files"
ProcLimits parse_limits(std::string_view text) {
  ProcLimits limits;
  constexpr std::size_t kName = 26;  // columns (fs/proc/base.c)
  for (const std::string_view line : split(text, '\n')) {
    const auto values = split_words(line.substr(std::min(line.size(), kName)));
    if (values.empty()) {
      continue;
    }
    const std::string_view name = trim(line.substr(0, kName));
    auto* const into = name == "Max open files"      ? &limits.open_files
                       : name == "Max processes"     ? &limits.processes
                       : name == "Max file size"     ? &limits.file_size
                       : name == "Max address space" ? &limits.address_space
                       : name == "Max locked memory" ? &limits.locked_memory
                       : name == "Max stack size"    ? &limits.stack
                                                     : nullptr;
    if (into != nullptr) {
      *into = parse_number<std::uint64_t>(values[0]);  // or "unlimited"
    }
  }
  return limits;
}

}  // namespace hangdbg
