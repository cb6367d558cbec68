// What `locks --json` writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/reports/lock.h"

namespace hangdbg::reports {

struct LockWaiter {
  std::int64_t pid = 0, tid = 0;
  std::string who, state, place;
  std::optional<double> waiting_s;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("tid", tid);
    v("who", who);
    v("state", state);
    v("place", place);
    v.nullable("waiting_s", waiting_s);
  }
};

struct KnownLock {
  SeenLock lock;
  std::vector<LockWaiter> waiters;

  template <class V>
  void fields(V& v) {
    lock.fields(v);
    v("waiters", waiters);
  }
};

struct LockEdge {
  std::int64_t pid = 0, tid = 0;
  std::string who, waits_for;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("tid", tid);
    v("who", who);
    v("waits_for", waits_for);
  }
};

struct Locks {
  std::int64_t pid = 0;
  std::optional<std::string> python;
  std::vector<KnownLock> locks;
  std::vector<std::vector<LockEdge>> circles;
  std::vector<std::string> skipped;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v.nullable("python", python);
    v("locks", locks);
    v("circles", circles);
    v("skipped", skipped);
  }
};

}  // namespace hangdbg::reports
