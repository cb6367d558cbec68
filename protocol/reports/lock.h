// A lock that is waited for, as `threads --json` and `locks --json` show it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hangdbg::reports {

struct LockOwner {
  std::int64_t pid = 0, tid = 0;
  std::string who, state, place;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("tid", tid);
    v("who", who);
    v("state", state);
    v("place", place);
  }
};

struct ThreadNumber {
  std::int64_t pid = 0, tid = 0;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("tid", tid);
  }
};

struct SeenLock {
  std::string kind, name;
  std::optional<std::string> address;
  std::int64_t count = 0;
  std::vector<LockOwner> owners;
  std::optional<ThreadNumber> owner_in_parent;  // it had it at the fork
  std::optional<std::string> note;              // why there is no owner

  template <class V>
  void fields(V& v) {
    v("kind", kind);
    v("name", name);
    v.nullable("address", address);
    v("count", count);
    v("owners", owners);
    v.nullable("owner_in_parent", owner_in_parent);
    v.nullable("note", note);
  }
};

}  // namespace hangdbg::reports
