#include "client/commands/run.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/path_error.h"
#include "client/run/script.h"
#include "client/terminal/broken_pipe.h"
#include "client/terminal/typed.h"
#include "tracee/access/permission.h"

namespace hangdbg {
namespace {

// As a shell's.
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

struct RunOptions {
  ScriptOptions script;
  bool no_post_mortem = false;
  bool children = false;
};

int run(const std::vector<std::string>& before,
        const RunWords& words,
        RunOptions options);
int run_command(std::span<char*> command, bool children, const Palette& err);
void allow_tracers(int scope_too_strict);
Status enter_user_namespace();
int become(std::span<char*> command, const Palette& err);

}  // namespace

void add_run(cli::Command program, const RunWords& words) {
  const auto options = std::make_shared<RunOptions>();
  const cli::Command command = program.add_command(
      "run",
      "Start a script under the debugger, or a command to attach to later");
  command.allow_extras();
  command.add_flag("-m", options->script.module,
                   "Run SCRIPT as a module, like python -m");
  command
      .add_option("--python", options->script.python,
                  "Use this Python (default: python3)")
      .type_name("EXECUTABLE");
  command
      .add_option(
          "-c", options->script.commands,
          "Run this prompt command instead of opening a prompt (repeatable)")
      .type_name("CMD")
      .one_at_a_time()
      .take_all();
  command.add_flag("--stop", options->script.stop,
                   "Open a prompt at the first line, too");
  command.add_flag("--no-post-mortem", options->no_post_mortem,
                   "Open no prompt at an uncaught exception");
  command.add_flag("--children", options->children,
                   "Run COMMAND in a user namespace, so that its child "
                   "processes may be attached to, too");
  add_common_options(command, options->script.common);
  command.footer(
      "Usage:\n"
      "  hangdbg run [OPTIONS] [-m] SCRIPT ARGS...\n"
      "  hangdbg run [--children] -- COMMAND ARGS...\n"
      "\n"
      "Examples:\n"
      "  hangdbg run train.py --epochs 3\n"
      "  hangdbg run --stop -m pytest -x tests\n"
      "  hangdbg run -c w -c 'p batch' train.py\n"
      "  hangdbg run -- python train.py\n"
      "  hangdbg run --children -- torchrun --nproc-per-node 8 train.py\n"
      "  srun hangdbg run -- python train.py\n"
      "\n"
      "SCRIPT runs as \"python3 SCRIPT ARGS...\" would, with its exit code. A "
      "prompt opens at an uncaught exception and at breakpoint(); `c` "
      "continues. Ctrl-C goes to SCRIPT; a second Ctrl-C opens a prompt if "
      "SCRIPT still hangs.\n"
      "\n"
      "With --, hangdbg becomes COMMAND: same PID, terminal and exit code; "
      "nothing stays behind. If kernel.yama.ptrace_scope is 1, other processes "
      "of this user may trace COMMAND from then on, as they may everywhere if "
      "it is 0.\n"
      "\n"
      "This permits COMMAND alone, not its child processes. Start the workers "
      "of a launcher by a \"hangdbg run --\" of their own, or the launcher "
      "with --children. In its user namespace sudo does not work, and files of "
      "other users appear to belong to nobody, which ssh refuses.");
  command.runs([command, words, options] {
    return run(command.extras(), words, *options);
  });
}

namespace {

int run(const std::vector<std::string>& before,
        const RunWords& words,
        RunOptions options) {
  const Palette err(options.script.common.colour, stderr);
  if (!before.empty() || words.program.empty()) {
    return report(
        {.id = ErrorId::Usage,
         .message = before.empty() ? "missing argument: SCRIPT, or -- COMMAND"
                                   : "unknown option: " + before.front(),
         .hint =
             before.empty() ? "hangdbg run train.py" : "hangdbg run --help"},
        err);
  }
  if (words.is_command) {
    return run_command(words.program, options.children, err);
  }
  options.script.post_mortem = !options.no_post_mortem;
  const auto code = run_script(options.script, words.program, err);
  return code ? *code : report(code.error(), err);
}

int run_command(std::span<char*> command, bool children, const Palette& err) {
  // Root may trace them anyhow.
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
    say(stderr, "hangdbg: cannot permit tracing of this process: {}\n", why);
  }
}

// One of our own, in which we keep our IDs: its creator has all capabilities
// over it from outside, CAP_SYS_PTRACE as well, and processes in it have none
// (user_namespaces(7)).
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
      fail_errno("cannot create a user namespace", ErrorId::NotPermitted);
  error.error().hint = typed_but("--children", "");
  return error;
}

int become(std::span<char*> command, const Palette& err) {
  restore_broken_pipes();
  ::execvp(command.front(), command.data());
  const int why = errno;
  (void)report(cannot_run(command.front(), why).error(), err);
  return why == ENOENT ? kNotFound : kNotExecutable;
}

}  // namespace
}  // namespace hangdbg
