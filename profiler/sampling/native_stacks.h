// C functions in a recording: each stack is copied while its thread does not
// run, and unwound when it does. To name its functions, whole tables of symbols
// may have to be read; until there is time for that, samples wait here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "inspector/cpython/runtime/python_process.h"
#include "inspector/cpython/stacks/target.h"
#include "inspector/snapshot/native_dump.h"
#include "profiler/profile/profile.h"

namespace hangdbg {

class NativeStacks {
 public:
  // What stands outside of a task's own frames, in place of its loop.
  struct Outside {
    Address root;  // the outermost frame that is the task's own
    std::string task;
    std::vector<PythonFrame> frames;  // of those that wait for it
  };
  struct Run {
    std::uint64_t first = 0, length = 0;  // as in ProfileRun
    std::string wait = {};                // why the thread does not run
  };
  // A stack whose samples wait for names.
  struct Unnamed {
    std::uint32_t thread = 0;  // of the profile
    PythonStack stack;
    std::optional<Outside> outside;
    std::vector<Run> runs = {};
  };
  // Outermost first; of a task only its own.
  using Place = std::function<void(const Unnamed&, std::vector<ProfilePlace>)>;

  // `process` must outlive this.
  explicit NativeStacks(PythonProcess& process);

  // In the stop, or of a thread that sleeps.
  Status copy(const Registers& registers) { return dump_->copy(registers); }
  // What was copied last is of this Python stack. Returns its number, until it
  // is named.
  std::size_t take(std::uint32_t thread,
                   PythonStack stack,
                   std::optional<Outside> outside);
  void add(std::size_t number,
           std::uint64_t at,
           std::uint64_t weight,
           const std::string& wait);
  // It is known by now why the thread did not run, in all samples of that
  // stack.
  void tell_wait(std::size_t number, const std::string& wait);

  // Whether there is time to name them, which may take a twentieth of it.
  bool is_due() const { return !unnamed_.empty() && next_.expired(); }
  void name(bool whole_functions, const Place& place);

  // New threads have stacks elsewhere, and a program loads libraries.
  void renew_maps();

 private:
  PythonProcess& process_;
  LiveTarget target_;
  std::optional<NativeDump> dump_;
  std::vector<Unnamed> unnamed_;
  Deadline next_ = Deadline::in({});
  Deadline forget_ = Deadline::in({});
};

}  // namespace hangdbg
