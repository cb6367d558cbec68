#include "client/views/diff/facts.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <vector>

#include "base/text.h"
#include "protocol/json.h"
#include "protocol/reports/compared.h"

namespace hangdbg {
namespace {

// Which differ between any two runs.
constexpr std::array<std::string_view, 9> kOwnVariables = {
    "MASTER_PORT",  "TORCHELASTIC_RUN_ID",
    "SLURM_JOB_ID", "SLURM_JOBID",
    "HOSTNAME",     "RANK",
    "LOCAL_RANK",   "OMPI_COMM_WORLD_RANK",
    "PMI_RANK"};

void add_cause(Facts& facts, const reports::ComparedCauseFields& cause);
const std::vector<std::string> kNoWords;

// Of a limit.
template <class T>
std::string most(const std::optional<T>& limit) {
  return limit ? fmt::format("{}", *limit) : "none";
}

void add_around(Facts& facts, const reports::ComparedAround& around);
void add_limits(Facts& facts, const reports::ComparedLimitsAround& limits);
std::string list(const std::vector<std::string>& words);
void add_descriptors(Facts& facts, const Json& fds);

}  // namespace

Facts shared_facts(const Side& side) {
  Facts facts;
  if (side.is_dump_alone()) {
    return facts;
  }
  const reports::ReportMachine& machine = side.report.machine;
  facts[{"machine", "system"}] = machine.system;
  facts[{"machine", "kernel"}] = machine.kernel;
  facts[{"machine", "architecture"}] = machine.arch;
  facts[{"machine", "CPUs"}] = fmt::format("{}", machine.cpus);
  facts[{"machine", "hangdbg"}] = side.report.hangdbg;
  if (side.report.job) {
    facts[{"job", "kind"}] = side.report.job->kind;
    if (side.report.job->world_size) {
      facts[{"job", "ranks"}] = fmt::format("{}", *side.report.job->world_size);
    }
    if (const auto all = decode<reports::ComparedDiagnosed>(
            part_of(side.report, "diagnosis"));
        all && all->ranks) {
      add_cause(facts, all->own);
    }
  }
  return facts;
}

Facts process_facts(const Side& side, const reports::DumpedProcess& process) {
  Facts facts;
  if (process.python) {
    facts[{"versions", "Python"}] = *process.python;
  }
  const reports::ReportDocument& report = side.report;
  if (const auto all =
          decode<reports::ComparedDiagnosed>(part_of(report, "diagnosis"))) {
    if (all->pid == process.pid) {
      add_cause(facts, all->own);
    }
    for (const auto* const list : {&all->processes, &all->ranks}) {
      for (const reports::ComparedOneOf& one :
           list->value_or(std::vector<reports::ComparedOneOf>())) {
        if (one.pid == process.pid && one.diagnosis) {
          add_cause(facts, *one.diagnosis);
        }
      }
    }
  }
  add_descriptors(facts, part_of(report, "fds", process.pid));
  const Json& around = part_of(report, "around", process.pid);
  if (const auto known = decode<reports::ComparedAround>(around);
      known && !around.is_null()) {
    add_around(facts, *known);
  }
  return facts;
}

std::string without_numbers(std::string_view text) {
  const auto is = [&text](std::size_t i, int (*kind)(int)) {
    return i < text.size() && kind(static_cast<unsigned char>(text[i])) != 0;
  };
  std::string same;
  std::size_t i = 0;
  while (i < text.size()) {
    const bool in_word = i > 0 && is(i - 1, std::isalpha);
    if (in_word || !is(i, std::isdigit)) {
      same += text[i++];
      continue;
    }
    const bool address = text.substr(i).starts_with("0x");
    i += address ? 2 : 0;
    while (address ? is(i, std::isxdigit) : is(i, std::isdigit)) {
      ++i;
    }
    same += 'N';
  }
  return same;
}

namespace {

void add_cause(Facts& facts, const reports::ComparedCauseFields& cause) {
  facts[{"diagnosis", "hung"}] = cause.hung.value_or(false) ? "yes" : "no";
  facts[{"diagnosis", "cause"}] = cause.cause.value_or("");
  facts[{"diagnosis", "says"}] = cause.summary.value_or("");
}

void add_around(Facts& facts, const reports::ComparedAround& around) {
  if (around.limits) {
    add_limits(facts, *around.limits);
  }
  if (around.cgroup) {
    const auto& [memory, cpu, pids] = *around.cgroup;
    facts[{"cgroup", "memory"}] = most(memory ? memory->max : std::nullopt);
    facts[{"cgroup", "processes"}] = most(pids ? pids->max : std::nullopt);
    facts[{"cgroup", "CPUs"}] = most(cpu ? cpu->cpus : std::nullopt);
  }
  if (around.machine) {
    const auto& [cpus, memory, swap] = *around.machine;
    facts[{"machine", "CPUs allowed"}] = fmt::format("{}", cpus);
    facts[{"machine", "memory"}] = fmt::format("{} GB", memory / 1'000'000);
    facts[{"machine", "swap"}] = fmt::format("{} GB", swap / 1'000'000);
  }
  if (around.signals) {
    facts[{"signals", "blocked"}] = list(around.signals->blocked);
    facts[{"signals", "ignored"}] = list(around.signals->ignored);
  }
  for (const std::string& line : around.unusual.value_or(kNoWords)) {
    facts[{"unusual", without_numbers(line)}] = line;
  }
  // Of two of the same name both are told.
  for (const reports::ComparedLibraryAround& one : around.libraries.value_or(
           std::vector<reports::ComparedLibraryAround>())) {
    std::string& known = facts[{"libraries", one.name}];
    known += fmt::format("{}{}{}", known.empty() ? "" : " and ",
                         one.version ? *one.version + ", " : "", one.path);
  }
  for (const auto& [name, value] :
       around.environment.value_or(std::map<std::string, std::string>())) {
    if (std::ranges::find(kOwnVariables, name) == kOwnVariables.end()) {
      facts[{"environment", name}] = value;
    }
  }
}

void add_limits(Facts& facts, const reports::ComparedLimitsAround& limits) {
  const auto add = [&facts](
                       std::string name,
                       const std::optional<reports::ComparedLimit>& limit) {
    if (limit) {
      facts[{"limits", std::move(name)}] = most(limit->limit);
    }
  };
  add("open files", limits.open_files);
  add("threads of the user", limits.user_threads);
  add("size of a file", limits.file_size);
  add("address space", limits.address_space);
  add("locked memory", limits.locked_memory);
}

std::string list(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : ", ") + word;
  }
  return text.empty() ? "none" : text;
}

void add_descriptors(Facts& facts, const Json& fds) {
  std::map<std::string, int> counts;
  if (const auto all = decode<reports::ComparedDescriptorKinds>(fds)) {
    for (const reports::ComparedDescriptorKind& one : all->descriptors) {
      ++counts[one.kind];
    }
  }
  for (const auto& [kind, count] : counts) {
    facts[{"descriptors", kind}] = fmt::format("{}", count);
  }
}

}  // namespace
}  // namespace hangdbg
