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
#include "client/options/default_target.h"
#include "client/options/options.h"
#include "client/views/evidence/descriptor.h"
#include "protocol/json.h"
#include "tracee/net/descriptors.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {
namespace {

struct FdsOptions {
  CommonOptions common;
  TargetOption target;
};

struct JsonDescriptors {
  std::int64_t pid = 0;
  std::vector<reports::Descriptor> descriptors;
  bool complete = true;
  std::int64_t unseen = 0;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("descriptors", descriptors);
    v("complete", complete);
    v("unseen", unseen);
  }
};

int run(const FdsOptions& options);
Result<int> show(const FdsOptions& options);
int print(const FdsOptions& options, int pid, const Descriptors& found);

}  // namespace

void add_fds(cli::Command program) {
  const auto options = std::make_shared<FdsOptions>();
  const cli::Command command = program.add_command(
      "fds", "What each open descriptor leads to, and who has the other end");
  add_pid_option(command, options->target);
  add_json_option(command, options->common);
  add_common_options(command, options->common);
  command.footer(
      "Files with the locks that are held on them, pipes with the processes at "
      "their\n"
      "other end, both ends of TCP connections with what lies in their queues, "
      "what an\n"
      "epoll set watches. The kernel tells it: nothing is stopped, no code "
      "runs, "
      "and no\n"
      "file is touched, so a dead mount holds nobody up.\n"
      "Without a PID the only process that hangs is meant.\n"
      "Examples:\n"
      "  hangdbg fds 79655\n"
      "  hangdbg fds 79655 --json");
  command.runs([options] { return run(*options); });
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
  const int pid = TRY(chosen_process(options.target, deadline));
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
               .message = fmt::format("the kernel did not tell the descriptors "
                                      "of {} in time",
                                      pid),
               .hint = fmt::format("hangdbg fds {} --timeout 60", pid)},
              err);
        }
        if (!*found && found->error().id == ErrorId::NotPermitted) {
          found->error().hint = fmt::format("sudo hangdbg fds {}", pid);
        }
        return *found ? print(options, pid, **found)
                      : report(found->error(), err);
      });
}

int print(const FdsOptions& options, int pid, const Descriptors& found) {
  if (options.common.json) {
    JsonDescriptors json{.pid = pid, .complete = found.complete};
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
    say(stderr, "there are more, which were not read\n");
  }
  return 0;
}

}  // namespace
}  // namespace hangdbg
