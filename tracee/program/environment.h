// The environment variables of a live process, as they are now: a program that
// sets os.environ changes its `environ`, and not what /proc/PID/environ shows.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hangdbg {

class Environment {
 public:
  // May wait for as long as the process is in D state. Where the live ones
  // cannot be found, those that it was started with. Errors: those of
  // read_proc_file.
  static Result<Environment> read(int pid);

  // "NAME=value", each; what is not of that form is left out.
  explicit Environment(std::vector<std::string> entries);

  std::optional<std::string_view> find(std::string_view name) const;

 private:
  std::vector<std::string> entries_;
};

}  // namespace hangdbg
