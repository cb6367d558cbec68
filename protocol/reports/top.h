// What `top --json` writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hangdbg::reports {

// Of functions and lines. Percent of the time: 100 is one thread all along.
struct TopPlace {
  std::string function, file;
  std::int64_t line = 0;  // of a function: its first
  double own_percent = 0, total_percent = 0;

  template <class V>
  void fields(V& v) {
    v("function", function);
    v("file", file);
    v("line", line);
    v("own_percent", own_percent);
    v("total_percent", total_percent);
  }
};

struct TopThread {
  std::int64_t pid = 0, tid = 0;
  std::string name, process;
  double cpu_percent = 0, gil_percent = 0, running_percent = 0;
  bool running = false;
  std::optional<std::string> waits_for;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("tid", tid);
    v("name", name);
    v("process", process);
    v("cpu_percent", cpu_percent);
    v("gil_percent", gil_percent);
    v("running_percent", running_percent);
    v("running", running);
    v("waits_for", waits_for);
  }
};

struct TopProcess {
  std::int64_t pid = 0;
  std::string process;
  std::int64_t threads = 0;
  double cpu_percent = 0, gil_percent = 0, running_percent = 0;
  std::string hottest;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("process", process);
    v("threads", threads);
    v("cpu_percent", cpu_percent);
    v("gil_percent", gil_percent);
    v("running_percent", running_percent);
    v("hottest", hottest);
  }
};

struct TopFrame {
  std::string function, file;
  std::int64_t line = 0;

  template <class V>
  void fields(V& v) {
    v("function", function);
    v("file", file);
    v("line", line);
  }
};

// Of asyncio, by name.
struct TopTask {
  std::optional<std::int64_t> pid, tid;  // of the thread that runs its loop
  std::string name;
  double percent = 0;
  std::vector<TopFrame> stack;  // innermost first

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("tid", tid);
    v("name", name);
    v("percent", percent);
    v("stack", stack);
  }
};

struct Top {
  double lasted_s = 0, rate = 0;
  std::int64_t due = 0, kept = 0, late = 0, missed = 0, torn = 0;
  double cpu_share = 0;      // that hangdbg has used
  double stopped_share = 0;  // of the time, for which threads were stopped
  std::vector<TopProcess> processes;
  std::vector<TopThread> threads;
  std::vector<TopPlace> functions, lines;
  std::optional<std::vector<TopTask>> tasks;

  template <class V>
  void fields(V& v) {
    v("lasted_s", lasted_s);
    v("rate", rate);
    v("due", due);
    v("kept", kept);
    v("late", late);
    v("missed", missed);
    v("torn", torn);
    v("cpu_share", cpu_share);
    v("stopped_share", stopped_share);
    v("processes", processes);
    v("threads", threads);
    v("functions", functions);
    v("lines", lines);
    v("tasks", tasks);
  }
};

}  // namespace hangdbg::reports
