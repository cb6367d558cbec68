// Samples one Python process: the thread to show, and as far as that matters
// those beside it. Nothing is stopped, and no code runs in it.
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
  // The first sample. Blocks while the process is in D state. Errors:
  // NoSuchProcess; NotPython, for a process that only has the name.
  static Result<std::unique_ptr<ProcessSampler>> begin(int pid);

  // The next sample; none if the process has ended.
  void sample();

  int pid() const { return pid_; }
  bool wants_more() const {
    return process_ && hangdbg::wants_more(observed_.samples.back().wait);
  }
  const Observed& observed() const { return observed_; }
  const std::optional<PythonVersion>& version() const { return version_; }
  // For an unknown version: what to trust (trust_note); else "".
  std::string note() const {
    return process_ ? trust_note(process_->python) : "";
  }
  // Why only the kernel's public facts are known.
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
  std::optional<PythonThread> thread_;  // to show
  Observed observed_;
};

}  // namespace hangdbg
