#include "client/commands/net.h"

#include <memory>

#include "client/options/options.h"
#include "client/views/evidence/net.h"
#include "client/views/evidence/processes.h"

namespace hangdbg {
namespace {

struct NetCommandOptions {
  CommonOptions common;
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
      "net",
      "Its sockets: queues, what is sent again, who is at the other end");
  add_processes_option(command, options->processes);
  command.add_flag("--options", options->net.socket_options,
                   "Keep-alive and timeouts too; has each TCP socket for some "
                   "microseconds");
  add_json_option(command, options->common);
  add_common_options(command, options->common);
  command.footer(
      "Odd ones first: no answer to SYN, sent again, a peer that does not "
      "read, "
      "unread\n"
      "data, a full backlog, an interface that is down. The kernel tells it "
      "(sock_diag);\n"
      "in a network namespace that we may not enter, the sockets themselves\n"
      "(pidfd_getfd). Nothing is stopped, and no code runs in it.\n"
      "Without a PID the only process that hangs is meant.\n"
      "Examples:\n"
      "  hangdbg net 79655\n"
      "  hangdbg net 79655 --options\n"
      "  hangdbg net 79655 --children --json");
  command.runs([options] { return run(*options); });
}

}  // namespace hangdbg
