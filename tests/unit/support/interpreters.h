// Real interpreters for tests to inspect: each one found is started with a
// script that hangs in a known way.
//
// HANGDBG_PYTHONS (paths, separated by colons) or pyenv's, the system's and
// those of scripts/get-pythons. A missing version is skipped by name.
#pragma once

#include <fcntl.h>
#include <glob.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "base/fd.h"
#include "tests/unit/support/source_folder.h"
#include "tracee/memory/memory.h"
#include "tracee/proc/proc_maps.h"
#include "tracee/proc/task_ids.h"

namespace hangdbg {

inline std::vector<std::string> candidates() {
  std::vector<std::string> found;
  if (const char* listed = std::getenv("HANGDBG_PYTHONS")) {
    std::istringstream stream(listed);
    for (std::string path; std::getline(stream, path, ':');) {
      found.push_back(path);
    }
    return found;
  }
  const std::string home = std::getenv("HOME") ? std::getenv("HOME") : "";
  for (const std::string& pattern :
       {home + "/.pyenv/versions/*/bin/python", std::string("/usr/bin/python3"),
        std::string("/usr/local/bin/python3"),
        source_folder() + "/.cache/pythons/*/python"}) {
    glob_t matches{};
    if (::glob(pattern.c_str(), 0, nullptr, &matches) == 0) {
      found.insert(found.end(), matches.gl_pathv,
                   matches.gl_pathv + matches.gl_pathc);
    }
    ::globfree(&matches);
  }
  return found;
}

// "3.7", or "system" for /usr/bin/python3, which has no libpython of its own
// (the other shape is a statically linked interpreter). Those of get-pythons
// have the name of their folder.
inline std::optional<std::string> python_named(const std::string& wanted) {
  for (const std::string& path : candidates()) {
    std::error_code error;
    const auto real = std::filesystem::canonical(path, error);
    if (error) {
      continue;
    }
    if (wanted == "system" ? path == "/usr/bin/python3"
                           : (real.filename() == "python" + wanted &&
                              !path.starts_with("/usr/bin")) ||
                                 path.ends_with("/" + wanted + "/python")) {
      return real;
    }
  }
  return {};
}

inline constexpr const char* kPrelude = R"(
import ctypes, os, sys, threading
ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG: none outlives its test
def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\n").encode())
def tid():
    return ctypes.CDLL(None).syscall(186)
)";

// A child running a script, whose first line of output has come.
class PythonChild {
 public:
  PythonChild(const std::string& python, const std::string& script) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) {
      return;
    }
    output_ = Fd(ends[0]);
    Fd write_end(ends[1]);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, write_end.get(), 1);
    const std::string text = kPrelude + script;
    const char* const arguments[] = {python.c_str(), "-c", text.c_str(),
                                     nullptr};
    ::posix_spawn(&pid_, python.c_str(), &actions, nullptr,
                  const_cast<char* const*>(arguments), environ);
    posix_spawn_file_actions_destroy(&actions);
    write_end.reset();
    char c = 0;
    while (::read(output_.get(), &c, 1) == 1 && c != '\n') {
      said_.push_back(c);
    }
  }
  PythonChild(const PythonChild&) = delete;
  PythonChild& operator=(const PythonChild&) = delete;
  ~PythonChild() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  int pid() const { return pid_; }
  const std::string& said() const { return said_; }
  int said_number() const { return std::atoi(said_.c_str()); }

 private:
  pid_t pid_ = -1;
  Fd output_;
  std::string said_;
};

class Look {
 public:
  explicit Look(int pid)
      : memory(pid),
        modules(find_modules(read_maps(pid).value())),
        tasks(TaskIds::read(pid).value()) {}

  LiveMemory memory;
  std::vector<Module> modules;
  TaskIds tasks;
};

// One interpreter a test; the parameter is python_named()'s.
class OnEachPython : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const auto found = python_named(GetParam());
    if (!found) {
      GTEST_SKIP() << "no python " << GetParam() << " here";
    }
    path_ = *found;
  }
  std::string path_;
};

inline const std::vector<std::string> kSupported = {
    "3.6",  "3.7",  "3.8",  "3.9",  "3.10",  "3.11",
    "3.12", "3.13", "3.14", "3.15", "system"};

// Those without a GIL, too, whose objects have another layout.
inline const std::vector<std::string> kEveryBuild = [] {
  auto names = kSupported;
  names.insert(names.end(), {"3.13t", "3.14t", "3.15t"});
  return names;
}();

// "3_7": what a test's name can hold.
inline std::string python_name(const testing::TestParamInfo<std::string>& at) {
  std::string name = at.param;
  std::ranges::replace(name, '.', '_');
  return name;
}

}  // namespace hangdbg
