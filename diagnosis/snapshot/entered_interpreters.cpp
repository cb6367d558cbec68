#include "diagnosis/snapshot/entered_interpreters.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace hangdbg {
namespace {

void enter(ThreadSnapshot& outer, ThreadSnapshot inner) {
  inner.entered_from = outer.python;
  auto& frames = inner.stack.frames;
  inner.frames_before = std::move(outer.stack.frames);
  frames.insert(frames.end(), inner.frames_before.begin(),
                inner.frames_before.end());
  outer = std::move(inner);
}

}  // namespace

void join_interpreters(std::vector<ThreadSnapshot>& threads) {
  std::set<int> tids;
  for (const ThreadSnapshot& one : threads) {
    tids.insert(one.id.tid);
  }
  if (tids.size() == threads.size()) {
    return;
  }
  // An interpreter is entered from one that is older. A state without frames,
  // as the creation of an interpreter leaves one behind up to 3.12, is at rest.
  std::ranges::stable_sort(threads, {}, [](const ThreadSnapshot& one) {
    return std::pair(!one.frames().empty(), one.python->interpreter);
  });
  std::vector<ThreadSnapshot> joined;
  for (ThreadSnapshot& one : threads) {
    const auto same = std::ranges::find(joined, one.id, &ThreadSnapshot::id);
    if (same == joined.end()) {
      joined.push_back(std::move(one));
    } else if (same->frames().empty()) {
      *same = std::move(one);
    } else {
      enter(*same, std::move(one));
    }
  }
  threads = std::move(joined);
}

const PythonThread& named_state(const ThreadSnapshot& thread) {
  return thread.entered_from ? *thread.entered_from : *thread.python;
}

}  // namespace hangdbg
