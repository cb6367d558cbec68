#include "client/commands/net.h"

#include <memory>

#include "client/nodes/each_node.h"
#include "client/options/options.h"
#include "client/options/via_option.h"
#include "client/probe/probe.h"
#include "client/views/evidence/net.h"
#include "client/views/evidence/processes.h"

namespace hangdbg {
namespace {

struct NetCommandOptions {
  CommonOptions common;
  ViaOption via;
  ProcessesOption processes;
  NetOptions net;
  bool probe = false;
  std::string question;  // of another machine's --probe
};

Result<int> probe(const NetCommandOptions& options) {
  if (options.processes.children || options.processes.job.given() ||
      options.net.socket_options || !options.processes.named.flagged.empty()) {
    return fail(ErrorId::Usage, "--probe is about machines, not processes",
                "hangdbg net --probe [HOST:PORT...]");
  }
  return probe_network({.via = options.via,
                        .common = options.common,
                        .services = options.processes.named.positional});
}

Result<int> show(const NetCommandOptions& options) {
  if (!options.question.empty()) {
    return answer_probe(options.question, options.common);
  }
  if (options.probe) {
    return probe(options);
  }
  TRY(options.common.configure_log());
  const auto chosen = TRY(
      chosen_processes(options.processes, "net", options.common.deadline()));
  return show_each<SeenNet>(
      options.common, "net", chosen,
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
  command.add_flag("--probe", options->probe,
                   "Check instead whether the nodes of --via reach each other, "
                   "and HOST:PORT... in place of PIDs");
  command.add_option("--probe-question", options->question, "Question")
      .hidden();
  add_via_option(command, options->via);
  add_json_option(command, options->common);
  add_common_options(command, options->common);
  command.footer(
      "Examples:\n"
      "  hangdbg net 79655\n"
      "  hangdbg net 79655 --options\n"
      "  hangdbg net 79655 --children --json\n"
      "  hangdbg net --probe node01:29500 --via ssh:node[01-16]\n"
      "\n"
      "Shows unusual sockets first: no answer to SYN, retransmissions, a peer "
      "that does not read, unread data, a full backlog, an interface that is "
      "down. Asks the kernel (sock_diag), or the sockets themselves "
      "(pidfd_getfd) in a network namespace that this user may not enter.\n"
      "\n"
      "Stops nothing, and runs no code in the process.\n"
      "\n"
      "With --probe each node shows its interfaces, connects to each other and "
      "to HOST:PORT and where ranks meet (MASTER_ADDR), and passes packets of "
      "full size both ways, over a port that is open for the test alone. Shows "
      "what fails first; the exit code is 1 then.\n"
      "\n"
      "Without a PID: the only hung process.");
  const auto on_nodes = run_via(options->via, options->common,
                                [options] { return run(*options); });
  command.runs([options, on_nodes] {
    return options->probe ? run(*options) : on_nodes();
  });
}

}  // namespace hangdbg
