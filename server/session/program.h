// Program: a Python script or module that we have started, as `python3 SCRIPT
// ...` would, and may attach to where Yama lets only ancestors do so.
//
// It has what we have, a terminal too, and outlives us; or another has started
// it for us, and it has what that has. It calls us by a signal
// when a thread of it waits for a debugger (python/start.py); the caller blocks
// that signal before.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace hangdbg {

class Program {
 public:
  struct Start {
    std::string python;  // looked for in PATH
    std::vector<std::string> python_options;
    bool module = false;
    std::vector<std::string> words;  // SCRIPT or MODULE, and its arguments
    std::optional<std::vector<std::string>> environment;  // else ours
    bool calls_us =
        false;  // at breakpoint(), and else waits as it would without hangdbg
    int call = SIGUSR1;  // by this signal; 0: by none
    int ready = -1;      // what it closes when it is about to wait at `entry`
    std::string tell;  // or another starts it: a pipe's path, for `ready` and,
                       // in a line before that, its number
    bool post_mortem = false;
    bool entry = false;               // before its first line
    std::chrono::seconds patience{};  // so long it waits for us, called
    // So long a process that it forks waits for a debugger of its own; 0: not.
    std::chrono::seconds hold_forks{};
  };

  // `before_exec` runs in the child, allocates nothing, and puts back what we
  // have set for ourselves. Where it fails, with errno, there is no program.
  // Errors: Usage, also when that Python cannot be run.
  static Result<Program> start(const Start& start,
                               const std::function<bool()>& before_exec);

  // For another program to start it in our place: what `python3 FILE ...` runs,
  // and the words with that FILE. Error: System.
  static Result<Fd> text(const Start& start);
  static std::vector<std::string> words(const Start& start,
                                        const std::string& file);
  // For a process that a program starts, in place of what it was to run: it
  // waits so long for a debugger of its own.
  // "@watched@" in it is to be replaced by a list (agent/spawning.py).
  static std::string text_for_children(std::chrono::seconds patience);
  // It has. Error: TargetDied.
  static Result<Program> of_another(int pid);

  int pid() const { return pid_; }
  int pidfd() const { return pidfd_.get(); }  // readable when it has ended

  // Whether it has, and how: its exit code, or 128 and the signal; kUnknown
  // where only its parent is told, and we are not that.
  std::optional<int> ended();
  static constexpr int kUnknown = -1;

  void send(int signal);

 private:
  Program(int pid, Fd pidfd, bool is_child)
      : pid_(pid), pidfd_(std::move(pidfd)), is_child_(is_child) {}

  int pid_;
  Fd pidfd_;
  bool is_child_;
  std::optional<int> code_;
};

}  // namespace hangdbg
