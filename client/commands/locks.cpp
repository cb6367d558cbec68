#include "client/commands/locks.h"

#include <memory>

#include "client/nodes/each_node.h"
#include "client/options/options.h"
#include "client/options/via_option.h"
#include "client/views/evidence/locks.h"
#include "client/views/evidence/processes.h"

namespace hangdbg {
namespace {

struct LocksOptions {
  CommonOptions common;
  ViaOption via;
  ProcessesOption processes;
};

Result<int> show(const LocksOptions& options) {
  TRY(options.common.configure_log());
  const auto chosen = TRY(
      chosen_processes(options.processes, "locks", options.common.deadline()));
  return show_each<SeenLocks>(options.common, "locks", chosen, see_locks,
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
      "locks", "Show locks, their owners and waiters, and deadlock cycles");
  add_processes_option(command, options->processes);
  add_via_option(command, options->via);
  add_json_option(command, options->common);
  add_common_options(command, options->common);
  command.footer(
      "Examples:\n"
      "  hangdbg locks 79655\n"
      "  hangdbg locks 79655 --children\n"
      "  hangdbg locks 79655 --json\n"
      "\n"
      "Covers Lock and RLock of Python, the GIL, mutexes of C code, locks of "
      "multiprocessing, and file locks. The owner of a Python Lock is known if "
      "it was acquired by `with`; that of a mutex, while a thread waits for "
      "it.\n"
      "\n"
      "Stops nothing, and runs no code in the process.\n"
      "\n"
      "Without a PID: the only hung process.");
  command.runs(run_via(options->via, options->common,
                       [options] { return run(*options); }));
}

}  // namespace hangdbg
