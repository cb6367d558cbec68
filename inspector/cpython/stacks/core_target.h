// A process that is no more, looked at in its core file. Nothing moves there:
// each stack is from one moment.
#pragma once

#include <memory>

#include "inspector/cpython/stacks/target.h"
#include "tracee/elf/core_file.h"

namespace hangdbg {

class CoreTarget final : public Target {
 public:
  // `core` must outlive this. Errors: those of find_python, of the file.
  static Result<std::unique_ptr<CoreTarget>> open(const CoreFile& core);

  Result<std::vector<int>> threads() const override;
  Result<TaskIds> tasks() const override;
  Result<ThreadSample> look(PythonStackReader& stacks,
                            const PythonThread& thread,
                            const SampleOptions& options) const override;
  std::string name() const override { return core_.notes.program; }
  std::vector<std::string> command_line() const override;
  std::optional<double> age_s() const override { return {}; }
  std::optional<int> live_pid() const override { return {}; }

 private:
  CoreTarget(const CoreFile& core, std::unique_ptr<PythonRuntime> python);

  const CoreFile& core_;
  std::unique_ptr<PythonRuntime> python_;
};

}  // namespace hangdbg
