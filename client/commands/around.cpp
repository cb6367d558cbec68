#include "client/commands/around.h"

#include <fmt/core.h>

#include <memory>
#include <utility>

#include "client/nodes/each_node.h"
#include "client/options/default_target.h"
#include "client/options/options.h"
#include "client/options/via_option.h"
#include "client/views/around/json.h"
#include "client/views/around/text.h"
#include "inspector/host/host_context.h"

namespace hangdbg {
namespace {

struct AroundOptions {
  CommonOptions common;
  ViaOption via;
  TargetOption target;
};

int run(const AroundOptions& options);
Result<int> show(const AroundOptions& options);

}  // namespace

// `around` was its name before.
void add_around(cli::Command program) {
  const auto options = std::make_shared<AroundOptions>();
  const cli::Command command = program.add_command(
      "host", "Show limits, libraries, environment variables and the machine");
  command.alias("around");
  add_pid_option(command, options->target);
  add_via_option(command, options->via);
  add_json_option(command, options->common);
  add_common_options(command, options->common);
  command.footer(
      "Examples:\n"
      "  hangdbg host 79655\n"
      "  hangdbg host 79655 --json\n"
      "\n"
      "Shows what surrounds the process, unusual findings first: cgroups with "
      "their limits and how often they throttled it, limits that are reached, "
      "full file systems, versions of relevant libraries, relevant environment "
      "variables (secrets are masked), signals, and the load of the machine.\n"
      "\n"
      "Stops nothing, and runs no code in the process.\n"
      "\n"
      "Without a PID: the only hung process.");
  command.runs(run_via(options->via, options->common,
                       [options] { return run(*options); }));
}

namespace {

int run(const AroundOptions& options) {
  const auto code = show(options);
  return code ? *code
              : report(code.error(), Palette(options.common.colour, stderr));
}

Result<int> show(const AroundOptions& options) {
  TRY(options.common.configure_log());
  const Deadline deadline = options.common.deadline();
  const int pid = TRY(chosen_process(options.target, deadline));
  // In time to tell what was found so far.
  const HostContext found = TRY(read_host_context(
      pid, Depth::Whole, deadline.capped(deadline.left() * 9 / 10)));
  if (options.common.json) {
    print_json(around_json(found));
  } else {
    print_now(stdout,
              around_text(found, Palette(options.common.colour, stdout)));
  }
  return 0;
}

}  // namespace
}  // namespace hangdbg
