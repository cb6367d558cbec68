#include "client/views/around/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/sizes.h"
#include "base/text.h"
#include "inspector/host/unusual.h"
#include "tracee/proc/signals.h"

namespace hangdbg {
namespace {

// A heading and what is below it; nothing where that is nothing.
class Page {
 public:
  explicit Page(const Palette& out) : out_(out) {}

  void section(std::string_view heading,
               const std::vector<std::string>& lines) {
    if (!lines.empty()) {
      text_ += out_.bold(heading) + "\n";
      for (const std::string& line : lines) {
        text_ += fmt::format("  {}\n", printable(line));
      }
    }
  }
  void line(const std::string& line) { text_ += line + "\n"; }
  std::string text() && { return std::move(text_); }

 private:
  const Palette& out_;
  std::string text_;
};

std::vector<std::string> cgroup_lines(const CgroupState& group);
std::vector<std::string> process_lines(const HostContext& around);
std::vector<std::string> machine_lines(const Machine& machine);
std::vector<std::string> file_lines(const HostContext& around);
std::vector<std::string> library_lines(const std::vector<Library>& all);
std::vector<std::string> gpu_lines(const std::vector<Gpu>& gpus);
std::vector<std::string> network_lines(const HostContext& around);

}  // namespace

std::string around_text(const HostContext& around, const Palette& out) {
  Page page(out);
  page.line(
      out.bold(fmt::format("Process {} · {}", around.pid,
                           around.command_line.empty()
                               ? printable(around.status.name)
                               : printable(shell_quote(around.command_line)))));
  const auto unusual = environment_warnings(around);
  if (unusual.empty()) {
    page.line("  nothing unusual");
  }
  for (const std::string& line : unusual) {
    page.line("  " + out.red(printable(line)));
  }
  page.section("process", process_lines(around));
  page.section("cgroup", cgroup_lines(around.cgroup));
  page.section("machine", machine_lines(around.machine));
  page.section("files", file_lines(around));
  page.section("GPUs", gpu_lines(around.gpus));
  page.section("network", network_lines(around));
  page.section("libraries", library_lines(around.libraries));
  std::vector<std::string> variables;
  for (const EnvironmentVariable& one : around.variables) {
    variables.push_back(fmt::format("{}={}", one.name, one.value));
  }
  page.section("environment", variables);
  for (const std::string& one : around.skipped) {
    page.line(out.dim("not seen: " + printable(one)));
  }
  return std::move(page).text();
}

namespace {

// "12 of 1024", "12 of no limit"
std::string of_limit(std::string used, const std::string& limit) {
  return fmt::format("{} of {}", used, limit.empty() ? "no limit" : limit);
}

std::string count(std::optional<std::uint64_t> number) {
  return number ? fmt::format("{}", *number) : "";
}

std::string size(std::optional<std::uint64_t> bytes) {
  return bytes ? human_size(*bytes) : "";
}

std::vector<std::string> process_lines(const HostContext& around) {
  const ProcStatus& status = around.status;
  std::vector<std::string> lines;
  lines.push_back(fmt::format(
      "{} thread{} · {} in memory{}", status.threads,
      status.threads == 1 ? "" : "s",
      human_size(around.usage.resident_kib << 10),
      around.usage.swapped_kib == 0
          ? ""
          : fmt::format(", {} swapped out",
                        human_size(around.usage.swapped_kib << 10))));
  lines.push_back(fmt::format(
      "descriptors {}", of_limit(fmt::format("{}", around.limits.open_files),
                                 count(around.limits.at_most.open_files))));
  if (around.limits.user_threads) {
    lines.push_back(
        fmt::format("threads of its user {}",
                    of_limit(count(*around.limits.user_threads),
                             count(around.limits.at_most.processes))));
  }
  const auto signals = [&](std::string_view what, std::uint64_t which) {
    if (which != 0) {
      lines.push_back(fmt::format("signals {}: {}", what,
                                  fmt::join(signal_names(which), ", ")));
    }
  };
  signals("pending", around.usage.pending | around.usage.shared_pending);
  signals("blocked", status.signals_blocked);
  signals("ignored", status.signals_ignored);
  return lines;
}

std::vector<std::string> cgroup_lines(const CgroupState& group) {
  std::vector<std::string> lines;
  if (group.memory) {
    const CgroupMemory& memory = *group.memory;
    std::string line =
        "memory " + of_limit(human_size(memory.current), size(memory.max));
    if (memory.high) {
      line += fmt::format(", slowed down above {}", human_size(*memory.high));
    }
    lines.push_back(line +
                    fmt::format(" · limit reached {} times · {} killed for it",
                                memory.reached, memory.oom_kills));
  }
  if (group.memory_pressure) {
    lines.push_back(fmt::format(
        "memory pressure: some waited {:.0f} %, all {:.0f} % of the last 10 s",
        group.memory_pressure->some.avg10, group.memory_pressure->full.avg10));
  }
  if (group.cpu) {
    const CgroupCpu& cpu = *group.cpu;
    lines.push_back(
        cpu.cpus ? fmt::format(
                       "CPUs {:.2g} · throttled in {} of {} periods, {} in all",
                       *cpu.cpus, cpu.throttled_periods, cpu.periods,
                       human_duration(cpu.throttled))
                 : "CPUs: no limit");
  }
  if (group.pids) {
    lines.push_back("threads and processes " +
                    of_limit(fmt::format("{}", group.pids->current),
                             count(group.pids->max)));
  }
  if (group.frozen) {
    lines.push_back("frozen; to resume it: " + group.frozen->command);
  }
  return lines;
}

std::vector<std::string> machine_lines(const Machine& machine) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{} of {} CPUs may be used · load {:.1f}",
                              machine.allowed_cpus, machine.cpus,
                              machine.load));
  lines.push_back(fmt::format("memory {} of {} left · swap {} of {} left",
                              human_size(machine.available_kib << 10),
                              human_size(machine.memory_kib << 10),
                              human_size(machine.swap_free_kib << 10),
                              human_size(machine.swap_kib << 10)));
  if (machine.cpu_pressure && machine.memory_pressure && machine.io_pressure) {
    lines.push_back(fmt::format(
        "some waited of the last 10 s: {:.0f} % for a CPU, {:.0f} % for "
        "memory, {:.0f} % for disks",
        machine.cpu_pressure->some.avg10, machine.memory_pressure->some.avg10,
        machine.io_pressure->some.avg10));
  }
  return lines;
}

std::vector<std::string> file_lines(const HostContext& around) {
  std::vector<std::string> lines;
  for (const FileSystem& one : around.file_systems) {
    lines.push_back(fmt::format(
        "{} ({}) {}{}", one.point, one.type,
        one.bytes == 0
            ? "without a limit"
            : fmt::format("{} of {} left", human_size(one.bytes_left),
                          human_size(one.bytes)),
        one.use.empty() ? "" : " · " + one.use));
  }
  for (const DeletedFile& one : around.deleted) {
    lines.push_back(fmt::format("fd {}, {}: deleted", one.fd, one.name));
  }
  return lines;
}

std::vector<std::string> library_lines(const std::vector<Library>& all) {
  std::vector<std::string> lines;
  for (const Library& one : all) {
    lines.push_back(fmt::format("{}{} · {}{}", one.name,
                                one.version ? " " + *one.version : "", one.path,
                                one.deleted ? ", deleted" : ""));
  }
  return lines;
}

std::vector<std::string> gpu_lines(const std::vector<Gpu>& gpus) {
  std::vector<std::string> lines;
  std::ranges::transform(gpus, std::back_inserter(lines), gpu_text);
  return lines;
}

std::vector<std::string> network_lines(const HostContext& around) {
  std::vector<std::string> lines;
  for (const NetworkInterface& one : around.interfaces) {
    lines.push_back(one.receive_errors + one.send_errors == 0
                        ? one.name
                        : fmt::format("{} · errors: {} received, {} sent",
                                      one.name, one.receive_errors,
                                      one.send_errors));
  }
  for (const InfinibandPort& one : around.infiniband) {
    std::string line =
        fmt::format("{} port {} · {} · {} · {} · {}", one.device, one.port,
                    one.layer, one.state, one.physical, one.rate);
    for (const auto& [name, count] : one.errors) {
      line += fmt::format(" · {} {}", name, count);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace
}  // namespace hangdbg
