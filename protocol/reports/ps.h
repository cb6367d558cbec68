// What `ps --json` writes, and the extension reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hangdbg::reports {

struct PsProcess {
  std::int64_t pid = 0;
  std::int64_t ppid = 0;
  std::int64_t uid = 0;
  std::optional<std::int64_t> rank;  // also of a rank's child
  std::optional<std::string> job;
  std::optional<std::string> role;  // "rank", "child", "launcher", ...
  std::optional<std::string> python;
  std::string state;
  bool hung = false, stalled = false;  // as of diagnose
  std::optional<std::string> cause;    // as of diagnose; null: not looked into
  std::string waits;
  std::optional<double> waiting_s;
  std::vector<std::string> cmdline;
  std::optional<std::string> error;  // why not more is known

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("ppid", ppid);
    v("uid", uid);
    v.nullable("rank", rank);
    v.nullable("job", job);
    v.nullable("role", role);
    v.nullable("python", python);
    v("state", state);
    v("hung", hung);
    v("stalled", stalled);
    v.nullable("cause", cause);
    v("waits", waits);
    v.nullable("waiting_s", waiting_s);
    v("cmdline", cmdline);
    v.nullable("error", error);
  }
};

struct PsJob {
  std::string job;
  std::string kind;
  std::optional<std::int64_t> launcher;
  std::optional<std::int64_t> world_size;
  std::vector<int> ranks;
  std::vector<int> missing;
  std::vector<int> elsewhere;  // ranks of other machines
  std::vector<int> orphans;    // ranks
  std::vector<int> left_over;  // PIDs
  std::vector<int> zombies;    // PIDs

  template <class V>
  void fields(V& v) {
    v("job", job);
    v("kind", kind);
    v.nullable("launcher", launcher);
    v.nullable("world_size", world_size);
    v("ranks", ranks);
    v("missing", missing);
    v("elsewhere", elsewhere);
    v("orphans", orphans);
    v("left_over", left_over);
    v("zombies", zombies);
  }
};

struct PsProcesses {
  std::vector<PsProcess> processes;
  std::vector<PsJob> jobs;

  template <class V>
  void fields(V& v) {
    v("processes", processes);
    v("jobs", jobs);
  }
};

}  // namespace hangdbg::reports
