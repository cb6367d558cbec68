// Program: a Python script or module that we have started, as `python3 SCRIPT
// ...` would, and may attach to where Yama lets only ancestors do so.
//
// It is in our process group, with our terminal, and outlives us. It calls us
// by SIGUSR1 when a thread of it waits for a debugger (python/start.py); who
// starts one blocks that signal before.
#pragma once

#include <sys/types.h>
#include <chrono>
#include <optional>
#include <span>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace hangdbg {

class Program {
 public:
  struct Start {
    std::string python;  // looked for in PATH
    bool module = false;
    std::span<char*> words;  // SCRIPT or MODULE, and its arguments
    bool calls_us = false;   // at breakpoint(), and else waits as without us
    bool post_mortem = false;
    bool entry = false;               // before its first line
    std::chrono::seconds patience{};  // so long it waits for us, called
  };

  // `before_exec` runs in the child: it puts back what we have set for
  // ourselves. Errors: Usage when that Python cannot be run, with errno.
  static Result<Program> start(const Start& start, void (*before_exec)());

  int pid() const { return pid_; }
  int pidfd() const { return pidfd_.get(); }  // readable when it has ended

  // Whether it has, and how: its exit code, or 128 and the signal.
  std::optional<int> ended();

 private:
  Program(int pid, Fd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

  int pid_;
  Fd pidfd_;
  std::optional<int> code_;
};

}  // namespace hangdbg
