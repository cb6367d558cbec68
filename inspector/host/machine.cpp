#include "inspector/host/machine.h"

#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "base/text.h"
#include "tracee/proc/proc_list.h"

namespace hangdbg {
namespace {

// "MemAvailable:   12345 kB" (proc_meminfo(5)).
void read_memory(Machine& machine) {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    const auto words = split_words(line);
    const auto kib =
        words.size() < 2 ? std::nullopt : parse_number<std::uint64_t>(words[1]);
    if (!kib) {
      continue;
    }
    if (words[0] == "MemTotal:") {
      machine.memory_kib = *kib;
    } else if (words[0] == "MemAvailable:") {
      machine.available_kib = *kib;
    } else if (words[0] == "SwapTotal:") {
      machine.swap_kib = *kib;
    } else if (words[0] == "SwapFree:") {
      machine.swap_free_kib = *kib;
    }
  }
}

int count_allowed(int pid) {
  constexpr int kMostCpus = 8192;  // NR_CPUS
  cpu_set_t* const set = CPU_ALLOC(kMostCpus);
  const std::size_t size = CPU_ALLOC_SIZE(kMostCpus);
  const int count =
      ::sched_getaffinity(pid, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
  CPU_FREE(set);
  return count;
}

}  // namespace

Machine read_machine(int pid) {
  Machine machine{.cpus = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)),
                  .allowed_cpus = count_allowed(pid)};
  std::ifstream("/proc/loadavg") >> machine.load;
  read_memory(machine);
  machine.cpu_pressure = read_pressure("/proc/pressure/cpu");
  machine.memory_pressure = read_pressure("/proc/pressure/memory");
  machine.io_pressure = read_pressure("/proc/pressure/io");
  return machine;
}

std::size_t count_user_threads(unsigned uid) {
  std::size_t count = 0;
  const auto pids = list_processes();
  for (const int pid : pids ? *pids : std::vector<int>()) {
    const auto status = read_status(pid);
    if (status && status->uids[0] == uid) {
      count += static_cast<std::size_t>(status->threads);
    }
  }
  return count;
}

}  // namespace hangdbg
