#include "client/commands/run.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/fd.h"
#include "client/broken_pipe.h"
#include "injector/permission.h"

namespace hangdbg {
namespace {

// As a shell's.
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

int run(const CLI::App& parsed, std::span<char*> command, bool children);
void allow_tracers(int scope_too_strict);
Status enter_user_namespace();
int become(std::span<char*> command, const Palette& err);

}  // namespace

void add_run(CLI::App& app, Run& chosen, std::span<char*> command) {
  const auto children = std::make_shared<bool>(false);
  CLI::App& parsed = *app.add_subcommand(
      "run", "Start a command that hangdbg may attach to without root");
  parsed.allow_extras();
  parsed.add_flag("--children", *children,
                  "In a user namespace: what it starts may be attached to too");
  parsed.footer(
      "hangdbg becomes COMMAND: the same pid, terminal and exit code; nothing "
      "stays\n"
      "behind. Where kernel.yama.ptrace_scope is 1, processes of its user may "
      "trace it\n"
      "from then on, as they may everywhere where it is 0.\n"
      "That goes for COMMAND alone, not for the processes that it starts: a "
      "launcher's\n"
      "workers want a \"hangdbg run --\" of their own, or all of it "
      "--children. There, sudo\n"
      "does not work, and files of others seem to be nobody's, which ssh "
      "minds.\n"
      "Examples:\n"
      "  hangdbg run -- python train.py\n"
      "  hangdbg run --children -- torchrun --nproc-per-node 8 train.py\n"
      "  srun hangdbg run -- python train.py");
  parsed.final_callback([&parsed, &chosen, command, children] {
    chosen = [&parsed, command, children] {
      return run(parsed, command, *children);
    };
  });
}

namespace {

int run(const CLI::App& parsed, std::span<char*> command, bool children) {
  const Palette err(ColourChoice::Auto, stderr);
  const auto before = parsed.remaining();
  if (!before.empty() || command.empty()) {
    return report({.id = ErrorId::Usage,
                   .message = "run wants a command after --",
                   .hint = before.empty() || before.front().starts_with('-')
                               ? "hangdbg run -- python train.py"
                               : "hangdbg run -- " + before.front()},
                  err);
  }
  // Who is root may trace them anyhow.
  if (children && ::geteuid() != 0) {
    if (const Status entered = enter_user_namespace(); !entered) {
      return report(entered.error(), err);
    }
  }
  allow_tracers(children ? 3 : 2);
  return become(command, err);
}

// Belongs to the process, through exec as well, and to none of its children
// (the kernel's security/yama). Whatever is in the way: the command is run.
void allow_tracers(int scope_too_strict) {
  const auto scope = ptrace_scope();
  if (!scope) {
    return;  // no Yama
  }
  std::string why;
  if (*scope >= scope_too_strict) {
    why = fmt::format("kernel.yama.ptrace_scope is {}", *scope);
  } else if (::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY) != 0) {
    why = std::strerror(errno);
  }
  if (!why.empty()) {
    fmt::print(stderr,
               "hangdbg: it cannot be made a process that its user may trace: "
               "{}\n",
               why);
  }
}

// One of our own, in which we are who we are: who has made it has all
// capabilities over it from outside, CAP_SYS_PTRACE as well, and whoever is in
// it has none (user_namespaces(7)).
Status enter_user_namespace() {
  const std::string uid_map = fmt::format("{0} {0} 1", ::geteuid());
  const std::string gid_map = fmt::format("{0} {0} 1", ::getegid());
  const auto write = [](const char* path, const std::string& text) {
    const Fd file(::open(path, O_WRONLY | O_CLOEXEC));
    return ::write(file.get(), text.data(), text.size()) >= 0;
  };
  if (::unshare(CLONE_NEWUSER) == 0 && write("/proc/self/setgroups", "deny") &&
      write("/proc/self/uid_map", uid_map) &&
      write("/proc/self/gid_map", gid_map)) {
    return {};
  }
  auto error =
      fail_errno("a user namespace cannot be had here", ErrorId::NotPermitted);
  error.error().hint = "hangdbg run -- COMMAND, for COMMAND alone";
  return error;
}

int become(std::span<char*> command, const Palette& err) {
  restore_broken_pipes();
  ::execvp(command.front(), command.data());
  const int why = errno;
  (void)report({.id = ErrorId::Usage,
                .message = fmt::format("cannot run {}", command.front()),
                .errno_value = why},
               err);
  return why == ENOENT ? kNotFound : kNotExecutable;
}

}  // namespace
}  // namespace hangdbg
