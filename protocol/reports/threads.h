// What `threads --json` writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/reports/descriptor.h"
#include "protocol/reports/lock.h"

namespace hangdbg::reports {

struct ThreadsPlace {
  std::string function, file;
  std::int64_t line = 0;

  template <class V>
  void fields(V& v) {
    v("function", function);
    v("file", file);
    v("line", line);
  }
};

struct ThreadsCall {
  std::string name;
  std::vector<std::string> args;

  template <class V>
  void fields(V& v) {
    v("name", name);
    v("args", args);
  }
};

struct ThreadsThread {
  std::int64_t tid = 0;
  std::string name, comm, state, doing;
  std::optional<double> asleep_s, cpu_percent;
  double cpu_s = 0;
  std::int64_t last_cpu = 0, nice = 0;
  std::string cpus_allowed, policy, wchan;
  bool pinned = false, python = false, has_gil = false;
  std::optional<ThreadsCall> call;
  std::vector<Descriptor> files;
  std::optional<SeenLock> waits_for;
  std::vector<std::string> pending, blocked;
  std::optional<std::int64_t> tracer;
  std::optional<ThreadsPlace> place, own;

  template <class V>
  void fields(V& v) {
    v("tid", tid);
    v("name", name);
    v("comm", comm);
    v("state", state);
    v("doing", doing);
    v.nullable("asleep_s", asleep_s);
    v("cpu_s", cpu_s);
    v.nullable("cpu_percent", cpu_percent);
    v("last_cpu", last_cpu);
    v("cpus_allowed", cpus_allowed);
    v("pinned", pinned);
    v("nice", nice);
    v("policy", policy);
    v("wchan", wchan);
    v.nullable("syscall", call);
    v("files", files);
    v.nullable("waits_for", waits_for);
    v("pending", pending);
    v("blocked", blocked);
    v.nullable("tracer", tracer);
    v("python", python);
    v("has_gil", has_gil);
    v.nullable("place", place);
    v.nullable("own", own);
  }
};

struct Threads {
  std::int64_t pid = 0;
  std::optional<std::string> python;
  std::optional<SeenLock> gil;
  std::vector<std::string> pending;
  std::vector<ThreadsThread> threads;
  std::int64_t unseen_pipes = 0;
  std::vector<std::string> skipped;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v.nullable("python", python);
    v.nullable("gil", gil);
    v("pending", pending);
    v("threads", threads);
    v("unseen_pipes", unseen_pipes);
    v("skipped", skipped);
  }
};

}  // namespace hangdbg::reports
