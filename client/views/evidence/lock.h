// A lock as commands show it in JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "diagnosis/evidence/awaited_lock.h"

namespace hangdbg {

struct JsonLockOwner {
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

struct JsonThreadId {
  std::int64_t pid = 0, tid = 0;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("tid", tid);
  }
};

struct JsonSeenLock {
  std::string kind, name;
  std::optional<std::string> address;
  std::int64_t count = 0;
  std::vector<JsonLockOwner> owners;
  std::optional<JsonThreadId> owner_in_parent;  // it had it at the fork
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

JsonSeenLock to_json(const SeenLock& from);

}  // namespace hangdbg
