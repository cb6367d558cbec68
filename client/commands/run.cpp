#include "client/commands/run.h"

#include <fmt/core.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>

#include "client/broken_pipe.h"
#include "injector/permission.h"

namespace hangdbg {
namespace {

// As a shell's.
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

int run(const CLI::App& parsed, std::span<char*> command);
void allow_tracers();
int become(std::span<char*> command);

}  // namespace

void add_run(CLI::App& app, Run& chosen, std::span<char*> command) {
  CLI::App& parsed = *app.add_subcommand(
      "run", "Start a command that hangdbg may attach to without root");
  parsed.allow_extras();
  parsed.footer(
      "hangdbg becomes COMMAND: the same pid, terminal and exit code; nothing "
      "stays\n"
      "behind. Where kernel.yama.ptrace_scope is 1, processes of its user may "
      "trace it\n"
      "from then on, as they may everywhere where it is 0.\n"
      "That goes for COMMAND alone, not for the processes that it starts: a "
      "launcher's\n"
      "workers want a \"hangdbg run --\" of their own.\n"
      "Examples:\n"
      "  hangdbg run -- python train.py\n"
      "  srun hangdbg run -- python train.py\n"
      "  torchrun --nproc-per-node 8 --no-python hangdbg run -- python "
      "train.py");
  parsed.final_callback([&parsed, &chosen, command] {
    chosen = [&parsed, command] { return run(parsed, command); };
  });
}

namespace {

int run(const CLI::App& parsed, std::span<char*> command) {
  const auto before = parsed.remaining();
  if (!before.empty() || command.empty()) {
    return report({.id = ErrorId::Usage,
                   .message = "run wants a command after --",
                   .hint = before.empty() || before.front().starts_with('-')
                               ? "hangdbg run -- python train.py"
                               : "hangdbg run -- " + before.front()},
                  Palette(ColourChoice::Auto, stderr));
  }
  allow_tracers();
  return become(command);
}

// Belongs to the process, through exec as well, and to none of its children
// (the kernel's security/yama). Whatever is in the way: the command is run.
void allow_tracers() {
  const auto scope = ptrace_scope();
  if (!scope) {
    return;  // no Yama
  }
  std::string why;
  if (*scope >= 2) {
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

int become(std::span<char*> command) {
  restore_broken_pipes();
  ::execvp(command.front(), command.data());
  const int why = errno;
  (void)report({.id = ErrorId::Usage,
                .message = fmt::format("cannot run {}", command.front()),
                .errno_value = why},
               Palette(ColourChoice::Auto, stderr));
  return why == ENOENT ? kNotFound : kNotExecutable;
}

}  // namespace
}  // namespace hangdbg
