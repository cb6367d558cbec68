#include "tracee/proc/process_stat.h"

#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "tracee/proc/proc_file.h"

namespace hangdbg {

Result<ProcessStat> read_process_stat(int pid) {
  return parse_process_stat(TRY(read_proc_record(pid, "stat")));
}

std::optional<double> process_age_s(int pid) {
  const auto stat = read_process_stat(pid);
  timespec now{};
  if (!stat || ::clock_gettime(CLOCK_BOOTTIME, &now) != 0) {
    return {};
  }
  return static_cast<double>(now.tv_sec) +
         static_cast<double>(now.tv_nsec) / 1e9 -
         static_cast<double>(stat->start_ticks) /
             static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// The name is in parentheses and may itself hold parentheses and spaces.
Result<ProcessStat> parse_process_stat(std::string_view text) {
  constexpr std::size_t kFirst = 3;  // of those after the name
  const auto close = text.rfind(')');
  const auto words = split_words(close == text.npos ? std::string_view()
                                                    : text.substr(close + 1));
  const auto field = [&](std::size_t number) {
    return number - kFirst < words.size()
               ? parse_number<std::uint64_t>(words[number - kFirst])
               : std::nullopt;
  };
  constexpr std::size_t kUser = 14, kSystem = 15, kStart = 22, kExit = 52;
  const auto user = field(kUser), system = field(kSystem);
  const auto start = field(kStart);
  if (!user || !system || !start) {
    return fail(ErrorId::Unreadable, "a /proc/PID/stat makes no sense");
  }
  return ProcessStat{.cpu_ticks = *user + *system,
                     .start_ticks = *start,
                     .exit_status = static_cast<int>(field(kExit).value_or(0))};
}

}  // namespace hangdbg
