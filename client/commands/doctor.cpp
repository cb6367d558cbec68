#include "client/commands/doctor.h"

#include <fmt/core.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <memory>

#include "base/checkpoint.h"
#include "base/fd.h"
#include "base/text.h"
#include "client/options/options.h"
#include "injector/checks/preflight.h"
#include "injector/inject.h"
#include "inspector/cpython/runtime/gil.h"
#include "protocol/json.h"
#include "protocol/reports/doctor.h"
#include "tracee/access/permission.h"
#include "tracee/proc/task_ids.h"

namespace hangdbg {
namespace {

struct DoctorOptions {
  CommonOptions common;
  TargetOption target;
  bool injection_points = false;
  bool target_calls = false;
};

int run(const DoctorOptions& options);
Result<int> examine(const DoctorOptions& options);
std::vector<reports::Check> examine_machine();
int examine_target(int pid,
                   Deadline deadline,
                   std::vector<reports::Check>& checks);
reports::Check refused(const std::string& name, const Error& error);
void show(const reports::Check& check, const Palette& out);
reports::Check kernel();
reports::Check trace_capability(Containment where);
reports::Check yama(Containment where);
reports::Check own_seccomp();
reports::Check take_descriptors();
std::optional<reports::Check> reading(int pid, const Error* refusal);
Result<std::size_t> count_python_threads(int pid);
reports::Check filter(const AttachTarget& target, const AllowedCalls& allowed);
reports::Check global_lock(const AttachTarget& target);
bool may_trace_all();

}  // namespace

void add_doctor(cli::Command program) {
  const auto options = std::make_shared<DoctorOptions>();
  const cli::Command command = program.add_command(
      "doctor", "Check whether attaching is possible, and how to fix it");
  add_pid_option(command, options->target);
  add_json_option(command, options->common);
  add_common_options(command, options->common);
  command.add_flag("--injection-points", options->injection_points).hidden();
  command.add_flag("--target-calls", options->target_calls).hidden();
  command.footer(
      "Examples:\n"
      "  hangdbg doctor         check this machine\n"
      "  hangdbg doctor 79655   check this process as well\n"
      "\n"
      "Runs no code in the process, and stops nothing except for the moment in "
      "which a seccomp filter is read.");
  command.runs([options] { return run(*options); });
}

namespace {

int run(const DoctorOptions& options) {
  const auto code = examine(options);
  return code ? *code
              : report(code.error(), Palette(options.common.colour, stderr));
}

// The exit code: that of what keeps us from attaching to the target.
Result<int> examine(const DoctorOptions& options) {
  TRY(options.common.configure_log());
  if (options.injection_points) {
    for (const std::string_view name : checkpoint_names()) {
      say("{}\n", name);
    }
    return 0;
  }
  if (options.target_calls) {
    for (const TargetCall& call : target_calls()) {
      say("{}\n", call.number);
    }
    return 0;
  }
  const std::string& word = options.target.flag.empty()
                                ? options.target.positional
                                : options.target.flag;
  reports::Examined diagnosis{std::nullopt, examine_machine()};
  int code = 0;
  if (!word.empty()) {
    const int pid = TRY(parse_pid(word));
    diagnosis.pid = pid;
    code = examine_target(pid, options.common.deadline(), diagnosis.checks);
  }
  if (options.common.json) {
    print_json(encode(diagnosis));
    return code;
  }
  const Palette out(options.common.colour, stdout);
  for (const reports::Check& check : diagnosis.checks) {
    show(check, out);
  }
  return code;
}

std::vector<reports::Check> examine_machine() {
  const Containment where = containment();
  return {kernel(), trace_capability(where), yama(where), own_seccomp(),
          take_descriptors()};
}

int examine_target(int pid,
                   Deadline deadline,
                   std::vector<reports::Check>& checks) {
  const std::string name = fmt::format("process {}", pid);
  const auto target = preflight(pid);
  if (auto check = reading(pid, target ? nullptr : &target.error())) {
    checks.push_back(*std::move(check));
  }
  if (!target) {
    checks.push_back(refused(name, target.error()));
    return exit_code(target.error().id);
  }
  const PythonRuntime& python = (*target)->python;
  checks.push_back(
      {name, "ok",
       fmt::format("python {}, {} in {}", python.version.text(),
                   (*target)->status.threads == 1
                       ? "1 thread,"
                       : fmt::format("{} threads,", (*target)->status.threads),
                   printable((*target)->modules[python.module].path))});
  checks.push_back(global_lock(**target));
  const auto allowed = ask_filter(**target, deadline);
  if (!allowed) {
    checks.push_back(refused("seccomp filter", allowed.error()));
    return exit_code(allowed.error().id);
  }
  checks.push_back(filter(**target, *allowed));
  checks.push_back(
      {"verdict", "ok", fmt::format("hangdbg attach {} is possible", pid)});
  return 0;
}

void show(const reports::Check& check, const Palette& out) {
  const std::string sign = check.state == "ok"     ? out.green("ok     ")
                           : check.state == "note" ? out.cyan("note   ")
                                                   : out.red("MISSING");
  say("{} {:<16} {}\n", sign, check.name, printable(check.finding));
  if (check.mend) {
    say("{:24} try: {}\n", "", printable(*check.mend));
  }
}

reports::Check refused(const std::string& name, const Error& error) {
  return {name, "missing", error.text(),
          error.hint.empty() ? std::nullopt : std::optional(error.hint),
          error_name(error.id)};
}

// ---- the machine

reports::Check kernel() {
  utsname name{};
  ::uname(&name);
  const Status calls = check_trace_calls();
  if (!calls && calls.error().id == ErrorId::KernelTooOld) {
    return refused("kernel", calls.error());
  }
  return {"kernel", "ok", fmt::format("{} {}", name.release, name.machine)};
}

reports::Check trace_capability(Containment where) {
  constexpr const char* kName = "CAP_SYS_PTRACE";
  if (may_trace_all()) {
    return in_first_user_namespace()
               ? reports::Check{kName, "ok", "may trace every process"}
               : reports::Check{
                     kName, "note",
                     "may trace processes in this user namespace only"};
  }
  if (::geteuid() == 0) {
    return {kName, "note",
            "root without this capability, as in a container: cannot trace "
            "processes of other users or with more capabilities",
            way_to_more_rights(where, "PID")};
  }
  return {
      kName, "note",
      fmt::format("not held: may trace processes of uid {} only", ::geteuid()),
      way_to_more_rights(where, "PID")};
}

// https://www.kernel.org/doc/html/latest/admin-guide/LSM/Yama.html
reports::Check yama(Containment where) {
  constexpr const char* kName = "ptrace_scope";
  const auto scope = ptrace_scope();
  if (!scope) {
    return {kName, "ok", "Yama is not active"};
  }
  if (*scope == 0) {
    return {kName, "ok", "0: no restriction"};
  }
  if (*scope < 3 && may_trace_all()) {
    return {kName, "ok",
            fmt::format("{}: does not restrict CAP_SYS_PTRACE", *scope)};
  }
  return {kName, "missing",
          *scope == 1  ? "1: only an ancestor may trace a process"
          : *scope < 3 ? "2: tracing needs CAP_SYS_PTRACE"
                       : "3: tracing is disabled until the next boot",
          way_past_yama(*scope, where, "PID")};
}

reports::Check own_seccomp() {
  const auto own = read_status(::getpid());
  if (!own || own->seccomp == SECCOMP_MODE_DISABLED) {
    return {"seccomp", "ok", "no filter on hangdbg itself"};
  }
  const Status calls = check_trace_calls();
  if (!calls && calls.error().id == ErrorId::PtraceForbidden) {
    return refused("seccomp", calls.error());
  }
  return {"seccomp", "ok",
          "a filter applies to hangdbg itself (probably the container's), and "
          "allows ptrace"};
}

// pidfd_getfd(2) on ourselves.
reports::Check take_descriptors() {
  constexpr const char* kName = "pidfd_getfd";
  const Fd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  const Fd null(static_cast<int>(
      self ? ::syscall(SYS_pidfd_getfd, self.get(), self.get(), 0) : -1));
  if (null) {
    return {kName, "ok", "available"};
  }
  return {kName, "note",
          fmt::format("{}: using /proc/PID/fd instead",
                      errno == EPERM ? "forbidden" : "not in this kernel")};
}

// ---- the target

// What the commands need that only read memory, as that of a stopped process
// can be. Nothing where an attach is refused for the same reason, or in state
// D: it might not come back.
std::optional<reports::Check> reading(int pid, const Error* refusal) {
  constexpr const char* kName = "reading";
  const auto status = read_status(pid);
  if (!status || status->state == 'D') {
    return {};
  }
  const auto threads = count_python_threads(pid);
  if (threads) {
    return reports::Check{
        kName, "ok",
        fmt::format("{} Python thread{}: hangdbg dump {} is possible", *threads,
                    *threads == 1 ? "" : "s", pid)};
  }
  return refusal != nullptr && threads.error().id == refusal->id
             ? std::nullopt
             : std::optional(refused(kName, threads.error()));
}

Result<std::size_t> count_python_threads(int pid) {
  TRY(check_readable(pid));
  const auto process = TRY(open_process(pid));
  const auto tasks = TRY(TaskIds::read(pid));
  return TRY(python_threads(process.memory, process.python, tasks)).size();
}

reports::Check filter(const AttachTarget& target, const AllowedCalls& allowed) {
  constexpr const char* kName = "seccomp filter";
  if (target.status.seccomp == SECCOMP_MODE_DISABLED) {
    return {kName, "ok", "none in the process"};
  }
  if (allowed == AllowedCalls{}) {
    return {kName, "ok", "allows everything that attaching needs"};
  }
  return {kName, "note",
          allowed.sockets ? "forbids calls that attaching can do without"
                          : "forbids sockets: using pipes instead"};
}

reports::Check global_lock(const AttachTarget& target) {
  const auto tasks = TaskIds::read(target.pid);
  const auto gil = tasks ? read_gil(target.memory, target.python, *tasks)
                         : std::unexpected(tasks.error());
  if (!gil) {
    return {"GIL", "note", gil.error().text()};
  }
  if (!gil->enabled) {
    return {"GIL", "ok", "none: free-threaded Python"};
  }
  if (!gil->locked) {
    return {"GIL", "ok", "free"};
  }
  const std::string holder = gil->holder_tid
                                 ? fmt::format("thread {}", *gil->holder_tid)
                                 : "an unknown thread";
  return {"GIL", "note",
          fmt::format(
              "currently held by {}: an expression waits until it is released",
              holder)};
}

// ---- ourselves

// CAP_SYS_PTRACE is bit 19 (linux/capability.h).
bool may_trace_all() {
  const auto own = read_status(::getpid());
  return own && (own->effective_capabilities >> 19 & 1) != 0;
}

}  // namespace
}  // namespace hangdbg
