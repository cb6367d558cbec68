#include "client/commands/tree.h"

#include <memory>
#include <utility>

#include "client/options/options.h"
#include "client/views/evidence/processes.h"
#include "client/views/evidence/tree.h"

namespace hangdbg {
namespace {

struct TreeOptions {
  CommonOptions common;
  ProcessesOption processes;
};

Result<ShownTree> see(int pid, Deadline deadline) {
  ShownTree shown{
      .tree = TRY(see_tree(pid, deadline.capped(deadline.left() * 2 / 3)))};
  auto surveyed = survey(kHungAfterS, deadline);
  if (surveyed) {
    shown.surveyed = *std::move(surveyed);
  } else {
    shown.tree.skipped.push_back("which of them hang: " +
                                 surveyed.error().text());
  }
  return shown;
}

Result<int> show(const TreeOptions& options) {
  TRY(options.common.configure_log());
  const auto pids =
      TRY(chosen_processes(options.processes, options.common.deadline()));
  return show_each<ShownTree>(options.common, "tree", pids, see,
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
      "The processes around one, which of them hang, who waits for whom");
  add_pids_option(command, options->processes.named);
  add_json_option(command, options->common);
  add_common_options(command, options->common);
  command.footer(
      "Who has started it, all that it has started, and where it is a rank of "
      "a "
      "job its\n"
      "launcher and the other ranks; zombies with how they ended. Nothing is "
      "stopped,\n"
      "and no code runs in any.\n"
      "Without a PID the only process that hangs is meant.\n"
      "Examples:\n"
      "  hangdbg tree 79655\n"
      "  hangdbg tree 79655 --json");
  command.runs([options] { return run(*options); });
}

}  // namespace hangdbg
