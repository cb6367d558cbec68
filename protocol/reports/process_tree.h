// What `tree --json` writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hangdbg::reports {

struct ProcessTreeNode {
  std::int64_t pid = 0, ppid = 0, depth = 0, uid = 0, threads = 0;
  std::string name, state, doing;
  std::vector<std::string> cmdline;
  double age_s = 0, cpu_s = 0;
  bool python = false;
  std::optional<std::string> ended;
  std::optional<std::int64_t> rank, tracer;
  std::optional<std::string> job, role, waits;
  // As of diagnose. None: it is no Python.
  std::optional<bool> hung, stalled;
  std::optional<std::string> verdict;
  std::vector<int> waited_for_by;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("ppid", ppid);
    v("depth", depth);
    v("name", name);
    v("cmdline", cmdline);
    v("uid", uid);
    v("state", state);
    v("doing", doing);
    v("threads", threads);
    v("age_s", age_s);
    v("cpu_s", cpu_s);
    v("python", python);
    v.nullable("hung", hung);
    v.nullable("stalled", stalled);
    v.nullable("verdict", verdict);
    v.nullable("waits", waits);
    v.nullable("ended", ended);
    v.nullable("tracer", tracer);
    v.nullable("rank", rank);
    v.nullable("job", job);
    v.nullable("role", role);
    v("waited_for_by", waited_for_by);
  }
};

struct ProcessTree {
  std::int64_t pid = 0;
  std::vector<ProcessTreeNode> ancestors, processes;
  std::vector<std::string> skipped;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("ancestors", ancestors);
    v("processes", processes);
    v("skipped", skipped);
  }
};

}  // namespace hangdbg::reports
