// Looks at one Python process: at the thread that a person would
// want to see, and as far as that matters at those beside it. Nothing is
// stopped, and no code runs in it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "diagnosis/survey/activity.h"
#include "inspector/cpython/runtime/gil.h"
#include "inspector/cpython/runtime/python_process.h"
#include "inspector/cpython/stacks/python_stack.h"

namespace hangdbg {

class ProcessSampler {
 public:
  // The first look. May wait for as long as the process is in D state. Errors:
  // NoSuchProcess; NotPython, of one that is called so and is not.
  static Result<std::unique_ptr<ProcessSampler>> begin(int pid);

  // The next. It may be gone by then: then there is none.
  void sample();

  int pid() const { return pid_; }
  bool wants_more() const {
    return process_ && hangdbg::wants_more(observed_.samples.back().wait);
  }
  const Observed& observed() const { return observed_; }
  const std::optional<PythonVersion>& version() const { return version_; }
  // Of a version that is not known: what to trust (trust_note); else "".
  std::string note() const {
    return process_ ? trust_note(process_->python) : "";
  }
  // Why there is no more than what the kernel tells everybody.
  const std::optional<Error>& error() const { return error_; }

 private:
  explicit ProcessSampler(int pid) : pid_(pid) {}
  Status open();
  void choose(std::vector<PythonThread> threads);
  std::optional<Sample> see();
  std::optional<int> gil_holder() const;

  int pid_;
  std::optional<PythonProcess> process_;
  std::optional<PythonStackReader> stacks_;
  std::optional<PythonVersion> version_;
  std::optional<Error> error_;
  std::optional<PythonThread> thread_;  // that is shown
  Observed observed_;
};

}  // namespace hangdbg
