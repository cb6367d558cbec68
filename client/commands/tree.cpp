#include "client/commands/tree.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "client/nodes/each_node.h"
#include "client/options/options.h"
#include "client/options/via_option.h"
#include "client/views/evidence/processes.h"
#include "client/views/evidence/tree.h"

namespace hangdbg {
namespace {

struct TreeOptions {
  CommonOptions common;
  ViaOption via;
  ProcessesOption processes;
};

Result<ShownTree> see(int pid, Deadline deadline) {
  ShownTree shown{
      .tree = TRY(see_tree(pid, deadline.capped(deadline.left() * 2 / 3)))};
  std::vector<int> pids;
  for (const auto* const part :
       {&shown.tree.ancestors, &shown.tree.processes}) {
    std::ranges::transform(*part, std::back_inserter(pids), &TreeProcess::pid);
  }
  auto surveyed = survey(kHungAfterS, deadline, std::move(pids));
  if (surveyed) {
    shown.surveyed = *std::move(surveyed);
  } else {
    shown.tree.skipped.push_back("hang detection: " + surveyed.error().text());
  }
  return shown;
}

Result<int> show(const TreeOptions& options) {
  TRY(options.common.configure_log());
  const auto chosen = TRY(
      chosen_processes(options.processes, "tree", options.common.deadline()));
  return show_each<ShownTree>(options.common, "tree", chosen, see,
                              process_tree_text, process_tree_json);
}

int run(const TreeOptions& options) {
  const auto code = show(options);
  return code ? *code
              : report(code.error(), Palette(options.common.colour, stderr));
}

}  // namespace

void add_tree(cli::Command program) {
  const auto options = std::make_shared<TreeOptions>();
  const cli::Command command = program.add_command(
      "tree",
      "Show related processes, which of them hang, and who waits for whom");
  add_pids_option(command, options->processes.named);
  add_via_option(command, options->via);
  add_json_option(command, options->common);
  add_common_options(command, options->common);
  command.footer(
      "Examples:\n"
      "  hangdbg tree 79655\n"
      "  hangdbg tree 79655 --json\n"
      "\n"
      "Shows its ancestors, its descendants, and for a rank of a job the "
      "launcher and the other ranks; zombies with their exit status.\n"
      "\n"
      "Stops nothing, and runs no code in any process.\n"
      "\n"
      "Without a PID: the only hung process.");
  command.runs(run_via(options->via, options->common,
                       [options] { return run(*options); }));
}

}  // namespace hangdbg
