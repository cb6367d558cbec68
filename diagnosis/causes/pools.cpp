#include "diagnosis/causes/pools.h"

#include "diagnosis/causes/rules.h"

namespace hangdbg {
namespace {

constexpr int kGenerations = 2;
constexpr std::size_t kMostWorkers = 128;

struct Search {
  const Case& of;
  std::string_view function, file;
  PoolWorkers found = {};

  void among_children(int parent, int generations) {
    const auto [begin, end] = of.world.children().equal_range(parent);
    for (auto at = begin; at != end; ++at) {
      const Case* const child = of.world.look_at(at->second);
      const CaseThread* const main =
          child != nullptr ? child->thread(child->pid) : nullptr;
      if (main == nullptr || found.idle + found.busy.size() >= kMostWorkers) {
        continue;
      }
      if (main->find(function, file) == nullptr) {
        if (generations > 1) {
          among_children(child->pid, generations - 1);
        }
      } else if (cause_of(*child, *main).standing == Standing::Idle) {
        ++found.idle;
      } else {
        found.busy.push_back(main->id);
      }
    }
  }
};

}  // namespace

PoolWorkers pool_workers(const Case& of,
                         std::string_view function,
                         std::string_view file) {
  Search search{of, function, file};
  search.among_children(of.pid, kGenerations);
  return std::move(search.found);
}

bool still_waits(const CaseThread& thread) {
  const auto now = look_at_wait(thread.id.pid, thread.id.tid);
  return now && now->state == 'S' && now->runs == thread.wait.runs;
}

}  // namespace hangdbg
