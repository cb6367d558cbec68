#include "client/commands/fds.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/run_with_deadline.h"
#include "client/nodes/each_node.h"
#include "client/options/default_target.h"
#include "client/options/options.h"
#include "client/options/via_option.h"
#include "client/terminal/typed.h"
#include "client/views/evidence/descriptor.h"
#include "protocol/json.h"
#include "protocol/reports/fds.h"
#include "tracee/net/descriptors.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {
namespace {

struct FdsOptions {
  CommonOptions common;
  ViaOption via;
  TargetOption target;
  JobOptions job;
};

int run(const FdsOptions& options);
Result<int> show(const FdsOptions& options);
int print(const FdsOptions& options, int pid, const Descriptors& found);

}  // namespace

void add_fds(cli::Command program) {
  const auto options = std::make_shared<FdsOptions>();
  const cli::Command command = program.add_command(
      "fds", "Show open descriptors, and what is at the other end");
  add_pid_option(command, options->target);
  add_job_options(command, options->job);
  add_via_option(command, options->via);
  add_json_option(command, options->common);
  add_common_options(command, options->common);
  command.footer(
      "Examples:\n"
      "  hangdbg fds 79655\n"
      "  hangdbg fds 79655 --json\n"
      "\n"
      "Shows files with the locks held on them, pipes with the processes at "
      "the other end, both ends of TCP connections with their queues, and what "
      "an epoll set watches.\n"
      "\n"
      "Asks the kernel: stops nothing, runs no code in the process, and "
      "touches no file, so that a dead mount blocks nothing.\n"
      "\n"
      "Without a PID: the only hung process.");
  command.runs(run_via(options->via, options->common,
                       [options] { return run(*options); }));
}

namespace {

int run(const FdsOptions& options) {
  const auto code = show(options);
  return code ? *code
              : report(code.error(), Palette(options.common.colour, stderr));
}

Result<int> show(const FdsOptions& options) {
  TRY(options.common.configure_log());
  const Deadline deadline = options.common.deadline();
  const int pid =
      TRY(chosen_process(options.target, options.job, "fds", deadline));
  TRY(read_status(pid));  // whether there is one
  return run_with_deadline<Result<Descriptors>>(
      deadline,
      [&] {
        // In time to tell what was found so far.
        return read_descriptors(pid, deadline.capped(deadline.left() * 9 / 10));
      },
      [&](std::optional<Result<Descriptors>> found) {
        const Palette err(options.common.colour, stderr);
        if (!found) {
          return report(
              {.id = ErrorId::TimedOut,
               .message = fmt::format(
                   "timeout while reading the descriptors of process {}", pid),
               .hint = typed_with("--timeout", "60")},
              err);
        }
        if (!*found && found->error().id == ErrorId::NotPermitted) {
          found->error().hint = "sudo " + typed_command();
        }
        return *found ? print(options, pid, **found)
                      : report(found->error(), err);
      });
}

int print(const FdsOptions& options, int pid, const Descriptors& found) {
  if (options.common.json) {
    reports::Descriptors json{.pid = pid, .complete = found.complete};
    json.unseen = static_cast<std::int64_t>(found.unseen);
    for (const Descriptor& one : found.descriptors) {
      json.descriptors.push_back(to_json(one));
    }
    print_json(encode(json));
    return 0;
  }
  const Palette out(options.common.colour, stdout);
  std::string text =
      out.bold(fmt::format("Process {} · {} descriptor{}", pid,
                           found.descriptors.size(),
                           found.descriptors.size() == 1 ? "" : "s")) +
      "\n";
  for (const Descriptor& one : found.descriptors) {
    text += fmt::format("{:>5}  {:<3}  {}\n", one.file.fd, mode_of(one.file),
                        descriptor_text(one, found.unseen, out));
  }
  print_now(stdout, text);
  if (!found.complete) {
    say(stderr, "more descriptors exist, and were not read\n");
  }
  return 0;
}

}  // namespace
}  // namespace hangdbg
