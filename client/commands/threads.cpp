#include "client/commands/threads.h"

#include <memory>

#include "client/nodes/each_node.h"
#include "client/options/options.h"
#include "client/options/via_option.h"
#include "client/views/evidence/processes.h"
#include "client/views/evidence/threads.h"

namespace hangdbg {
namespace {

struct ThreadsOptions {
  CommonOptions common;
  ViaOption via;
  ProcessesOption processes;
};

Result<int> show(const ThreadsOptions& options) {
  TRY(options.common.configure_log());
  const auto chosen = TRY(chosen_processes(options.processes, "threads",
                                           options.common.deadline()));
  return show_each<SeenThreads>(options.common, "threads", chosen, see_threads,
                                threads_text, threads_json);
}

int run(const ThreadsOptions& options) {
  const auto code = show(options);
  return code ? *code
              : report(code.error(), Palette(options.common.colour, stderr));
}

}  // namespace

void add_threads(cli::Command program) {
  const auto options = std::make_shared<ThreadsOptions>();
  const cli::Command command = program.add_command(
      "threads", "Show what each thread does, and what blocks it");
  add_processes_option(command, options->processes);
  add_via_option(command, options->via);
  add_json_option(command, options->common);
  add_common_options(command, options->common);
  command.footer(
      "Examples:\n"
      "  hangdbg threads 79655\n"
      "  hangdbg threads 79655 --children\n"
      "  hangdbg threads 79655 --json\n"
      "\n"
      "Shows state, CPU time, the system call with what its descriptors refer "
      "to, the lock that a thread waits for and its owner, signals, and the "
      "Python line. Works for programs other than Python, too.\n"
      "\n"
      "Stops nothing, and runs no code in the process.\n"
      "\n"
      "Without a PID: the only hung process.");
  command.runs(run_via(options->via, options->common,
                       [options] { return run(*options); }));
}

}  // namespace hangdbg
