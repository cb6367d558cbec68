#include "inspector/cpython/runtime/python_processes.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include "base/text.h"
#include "inspector/cpython/runtime/python_runtime.h"
#include "tracee/memory/memory.h"
#include "tracee/proc/proc_file.h"
#include "tracee/proc/proc_maps.h"

namespace hangdbg {

bool PythonFinder::runs_python(int pid) {
  const auto program = read_proc_link(pid, "exe");
  if (!program) {
    // Another user's; or a zombie or a kernel thread, which have no command
    // line.
    const auto name = read_proc_record(pid, "comm");
    if (name && is_python_name(trim(*name))) {
      return true;
    }
    const auto words = program.error().id == ErrorId::NotPermitted
                           ? read_proc_file(pid, "cmdline")
                           : "";
    return words && is_python_name(words->substr(0, words->find('\0')));
  }
  if (is_python_name(*program)) {
    return true;
  }
  const auto maps = read_proc_file(pid, "maps");
  return maps &&
         (maps->find("/libpython") != maps->npos || exports_python(pid, *maps));
}

bool PythonFinder::exports_python(int pid, const std::string& maps) {
  struct stat file {};
  if (::stat(fmt::format("/proc/{}/exe", pid).c_str(), &file) != 0) {
    return false;
  }
  const std::pair<std::uint64_t, std::uint64_t> key(file.st_dev, file.st_ino);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = exports_.find(key); known != exports_.end()) {
      return known->second;
    }
  }
  // Of the program alone: a library that is Python is called so.
  auto modules = find_modules(parse_maps(maps));
  std::erase_if(modules, [&](const Module& module) {
    return module.segments.empty() ||
           module.segments.front().inode != file.st_ino;
  });
  const LiveMemory memory(pid);
  if (modules.empty() || !memory.read_value<char>(modules.front().base)) {
    return false;  // not for us to read, and perhaps of another user's
  }
  const auto python = find_python(memory, modules);
  const bool found = python || python.error().id != ErrorId::NotPython;
  const std::lock_guard lock(mutex_);
  return exports_[key] = found;
}

bool is_python_name(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (name.ends_with(" (deleted)")) {
    name.remove_suffix(10);
  }
  if (name.starts_with('-')) {
    name.remove_prefix(1);  // a login shell
  }
  if (!name.starts_with("python")) {
    return false;
  }
  name.remove_prefix(6);
  return name.find_first_not_of("0123456789.tdm") == name.npos;
}

}  // namespace hangdbg
