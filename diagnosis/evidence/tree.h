// The processes around one: its ancestors, its descendants, its job, and which
// of them are waited for: the facts behind `hangdbg tree`. Nothing is stopped,
// and no code runs in any.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "inspector/jobs/jobs.h"

namespace hangdbg {

struct TreeProcess {
  int pid = 0;
  int parent = 0;
  std::size_t depth = 0;                  // below the tree's root
  std::string name;                       // comm
  std::vector<std::string> command_line;  // none: unknown
  unsigned uid = 0;
  char state = '?';   // R S D T t Z
  std::string doing;  // its main thread: "asleep in futex for 3 min"
  int threads = 0;
  double age_s = 0;
  double cpu_s = 0;  // all that it has used
  bool python = false;
  std::string ended;  // of a zombie: "exit code 3", "killed by SIGKILL"
  std::optional<int> tracer;
  std::vector<int> waited_for_by;  // processes that wait for it
};

struct SeenTree {
  int pid = 0;                         // the process that was requested
  std::vector<TreeProcess> ancestors;  // of the root, the outermost first
  // Each below its parent. The first is the root: the launcher of the process's
  // job, or the process itself. Ranks outside of the launcher's tree come
  // after, with their descendants.
  std::vector<TreeProcess> processes;
  Jobs jobs;
  std::vector<std::string> skipped;
};

// Errors: NoSuchProcess, System.
Result<SeenTree> see_tree(int pid, Deadline deadline);

}  // namespace hangdbg
