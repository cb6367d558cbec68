#include "diagnosis/causes/pools.h"

#include "diagnosis/causes/rules.h"
#include "diagnosis/waits/library_waits.h"

namespace hangdbg {
namespace {

constexpr int kGenerations = 2;
constexpr std::size_t kMostWorkers = 128;

struct Search {
  const ProcessSnapshot& of;
  std::string_view function, file;
  PoolWorkers found = {};

  void among_children(int parent, int generations) {
    const auto [begin, end] = of.system.children().equal_range(parent);
    for (auto at = begin; at != end; ++at) {
      const ProcessSnapshot* const child = of.system.snapshot(at->second);
      const ThreadSnapshot* const main =
          child != nullptr ? child->thread(child->pid) : nullptr;
      if (main == nullptr || found.idle + found.busy.size() >= kMostWorkers) {
        continue;
      }
      if (main->find(function, file) == nullptr) {
        if (generations > 1) {
          among_children(child->pid, generations - 1);
        }
      } else if (is_worker_loop(*main) &&
                 cause_of(*child, *main).progress == Progress::Idle) {
        ++found.idle;
      } else {
        found.busy.push_back(main->id);
      }
    }
  }
};

}  // namespace

PoolWorkers pool_workers(const ProcessSnapshot& of,
                         std::string_view function,
                         std::string_view file) {
  Search search{of, function, file};
  search.among_children(of.pid, kGenerations);
  return std::move(search.found);
}

bool runs_task(const ThreadSnapshot& thread) {
  return thread.find("run", "/concurrent/futures/thread.py") != nullptr;
}

const ThreadSnapshot* thread_of_future(const ProcessSnapshot& of,
                                       Address future) {
  for (const ThreadSnapshot* const one : of.python_threads()) {
    const PythonFrame* const run =
        one->find("run", "/concurrent/futures/thread.py");
    if (run != nullptr && of.object(*run, "self.future") == future) {
      return one;
    }
  }
  return nullptr;
}

std::vector<ThreadId> threads_at_work(const ProcessSnapshot& of) {
  std::vector<ThreadId> found;
  for (const ThreadSnapshot* const one : of.python_threads()) {
    if (runs_task(*one)) {
      found.push_back(one->id);
    }
  }
  return found;
}

bool still_waits(const ThreadSnapshot& thread) {
  const auto now = sample_wait(thread.id.pid, thread.id.tid);
  return now && now->state == 'S' && now->runs == thread.wait.runs;
}

bool has_gone_on(const ThreadSnapshot& thread) {
  if (thread.wait.runs == SchedStats()) {
    return false;  // the kernel does not tell
  }
  const auto now = sample_wait(thread.id.pid, thread.id.tid);
  return now && now->runs != thread.wait.runs;
}

}  // namespace hangdbg
