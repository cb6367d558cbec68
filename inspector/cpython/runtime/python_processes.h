// Which of a machine's processes run Python, told cheaply: it may have
// thousands.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace hangdbg {

// Remembers what it has learnt of each program. For several threads at once.
class PythonFinder {
 public:
  // By the program's name, its libraries, and what it exports. Of one that we
  // may not look into, by the name under which it was started. May wait for as
  // long as the process is in D state.
  bool runs_python(int pid);

 private:
  bool exports_python(int pid, const std::string& maps);

  std::mutex mutex_;
  // Of programs by device and inode.
  std::map<std::pair<std::uint64_t, std::uint64_t>, bool> exports_;
};

// "python", "python3.11", "python3.13t", with or without a folder.
bool is_python_name(std::string_view path);

}  // namespace hangdbg
