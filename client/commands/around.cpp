#include "client/commands/around.h"

#include <fmt/core.h>

#include <memory>
#include <utility>

#include "client/options/default_target.h"
#include "client/options/options.h"
#include "client/views/around/json.h"
#include "client/views/around/text.h"
#include "inspector/host/host_context.h"

namespace hangdbg {
namespace {

struct AroundOptions {
  CommonOptions common;
  TargetOption target;
};

int run(const AroundOptions& options);
Result<int> show(const AroundOptions& options);

}  // namespace

void add_around(cli::Command program) {
  const auto options = std::make_shared<AroundOptions>();
  const cli::Command command = program.add_command(
      "around", "What is around it: limits, libraries, variables, the machine");
  add_pid_option(command, options->target);
  add_json_option(command, options->common);
  add_common_options(command, options->common);
  command.footer(
      "Its cgroups with what they let it have and how often they held it up, "
      "limits that\n"
      "it has reached, file systems that are full, libraries that matter with "
      "their\n"
      "versions, variables that matter (secrets are masked), signals, and how "
      "busy the\n"
      "machine is. What is unusual comes first. Nothing is stopped, and no "
      "code runs in it.\n"
      "Without a PID the only process that hangs is meant.\n"
      "Examples:\n"
      "  hangdbg around 79655\n"
      "  hangdbg around 79655 --json");
  command.runs([options] { return run(*options); });
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
