#include "client/commands/net.h"

#include <memory>

#include "client/nodes/each_node.h"
#include "client/options/options.h"
#include "client/options/via_option.h"
#include "client/views/evidence/net.h"
#include "client/views/evidence/processes.h"

namespace hangdbg {
namespace {

struct NetCommandOptions {
  CommonOptions common;
  ViaOption via;
  ProcessesOption processes;
  NetOptions net;
};

Result<int> show(const NetCommandOptions& options) {
  TRY(options.common.configure_log());
  const auto pids =
      TRY(chosen_processes(options.processes, options.common.deadline()));
  return show_each<SeenNet>(
      options.common, "net", pids,
      [net = options.net](int pid, Deadline deadline) {
        return see_net(pid, net, deadline);
      },
      net_text, net_json);
}

int run(const NetCommandOptions& options) {
  const auto code = show(options);
  return code ? *code
              : report(code.error(), Palette(options.common.colour, stderr));
}

}  // namespace

void add_net(cli::Command program) {
  const auto options = std::make_shared<NetCommandOptions>();
  const cli::Command command = program.add_command(
      "net", "Show sockets: queues, retransmissions, peers");
  add_processes_option(command, options->processes);
  command.add_flag("--options", options->net.socket_options,
                   "Also show keep-alive and timeouts; duplicates each TCP "
                   "socket for some microseconds");
  add_via_option(command, options->via);
  add_json_option(command, options->common);
  add_common_options(command, options->common);
  command.footer(
      "Examples:\n"
      "  hangdbg net 79655\n"
      "  hangdbg net 79655 --options\n"
      "  hangdbg net 79655 --children --json\n"
      "\n"
      "Shows unusual sockets first: no answer to SYN, retransmissions, a peer "
      "that does not read, unread data, a full backlog, an interface that is "
      "down. Asks the kernel (sock_diag), or the sockets themselves "
      "(pidfd_getfd) in a network namespace that this user may not enter.\n"
      "\n"
      "Stops nothing, and runs no code in the process.\n"
      "\n"
      "Without a PID: the only hung process.");
  command.runs(run_via(options->via, options->common,
                       [options] { return run(*options); }));
}

}  // namespace hangdbg
