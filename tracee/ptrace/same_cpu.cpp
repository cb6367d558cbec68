#include "tracee/ptrace/same_cpu.h"

#include <string>
#include <string_view>

#include "base/text.h"
#include "tracee/proc/proc_file.h"

namespace hangdbg {
namespace {

constexpr int kLookAgain = 64;  // calls: it may have moved

// On which a thread has run last: the 39th field of its stat
// (proc_pid_stat(5)), whose second is a name in parentheses.
std::optional<int> last_cpu_of(int tid) {
  const auto text = read_proc_record(tid, "stat");
  const auto name_end = text ? text->rfind(')') : std::string::npos;
  if (name_end == std::string::npos) {
    return {};
  }
  constexpr std::size_t kField = 39 - 3;
  const auto words = split_words(std::string_view(*text).substr(name_end + 1));
  return words.size() > kField ? parse_number<int>(words[kField])
                               : std::nullopt;
}

}  // namespace

SameCpu::SameCpu() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    before_ = set;
  }
}

// Where we may not run (cpuset(7)), we do not.
void SameCpu::follow(int tid) {
  if (!before_ || calls_++ % kLookAgain != 0) {
    return;
  }
  const auto cpu = last_cpu_of(tid);
  if (!cpu || *cpu < 0 || *cpu >= CPU_SETSIZE || *cpu == cpu_) {
    return;
  }
  cpu_ = *cpu;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu_), &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

void SameCpu::leave() {
  if (before_ && cpu_ >= 0) {
    ::sched_setaffinity(0, sizeof *before_, &*before_);
  }
  cpu_ = -1;
  calls_ = 0;
}

}  // namespace hangdbg
