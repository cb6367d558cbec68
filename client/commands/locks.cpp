#include "client/commands/locks.h"

#include <memory>

#include "client/options/options.h"
#include "client/views/evidence/locks.h"
#include "client/views/evidence/processes.h"

namespace hangdbg {
namespace {

struct LocksOptions {
  CommonOptions common;
  ProcessesOption processes;
};

Result<int> show(const LocksOptions& options) {
  TRY(options.common.configure_log());
  const auto pids =
      TRY(chosen_processes(options.processes, options.common.deadline()));
  return show_each<SeenLocks>(options.common, "locks", pids, see_locks,
                              locks_text, locks_json);
}

int run(const LocksOptions& options) {
  const auto code = show(options);
  return code ? *code
              : report(code.error(), Palette(options.common.colour, stderr));
}

}  // namespace

void add_locks(cli::Command program) {
  const auto options = std::make_shared<LocksOptions>();
  const cli::Command command = program.add_command(
      "locks", "Who has which lock, who waits for it, and circles of them");
  add_processes_option(command, options->processes);
  add_json_option(command, options->common);
  add_common_options(command, options->common);
  command.footer(
      "Python's Lock and RLock, the GIL, mutexes of C code, locks of "
      "multiprocessing,\n"
      "locks on files. Of a Lock of Python it is known who has it as long as "
      "that is by\n"
      "`with`; of a mutex, while somebody waits for it. Nothing is stopped, "
      "and "
      "no code\n"
      "runs in it.\n"
      "Without a PID the only process that hangs is meant.\n"
      "Examples:\n"
      "  hangdbg locks 79655\n"
      "  hangdbg locks 79655 --children\n"
      "  hangdbg locks 79655 --json");
  command.runs([options] { return run(*options); });
}

}  // namespace hangdbg
