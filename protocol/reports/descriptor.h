// An open descriptor, as `fds --json` and others show it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hangdbg::reports {

struct DescriptorEnd {
  std::int64_t pid = 0;
  std::int64_t fd = 0;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("fd", fd);
  }
};

struct DescriptorTcp {
  std::string local, remote, state;
  std::int64_t unread = 0;
  std::int64_t unacknowledged = 0;
  std::int64_t retransmits = 0;

  template <class V>
  void fields(V& v) {
    v("local", local);
    v("remote", remote);
    v("state", state);
    v("unread", unread);
    v("unacknowledged", unacknowledged);
    v("retransmits", retransmits);
  }
};

struct DescriptorLock {
  std::string type;
  bool write = false;
  std::int64_t start = 0;
  std::optional<std::int64_t> end;

  template <class V>
  void fields(V& v) {
    v("type", type);
    v("write", write);
    v("start", start);
    v.nullable("end", end);
  }
};

struct Descriptor {
  std::int64_t fd = 0;
  std::string kind, name, mode;
  bool deleted = false;
  std::int64_t position = 0;
  std::optional<std::int64_t> count, pid;
  std::vector<int> watches;
  std::vector<DescriptorLock> locks;
  std::optional<DescriptorTcp> tcp;
  std::optional<std::vector<DescriptorEnd>> other_ends;

  template <class V>
  void fields(V& v) {
    v("fd", fd);
    v("kind", kind);
    v("name", name);
    v("mode", mode);
    v("deleted", deleted);
    v("position", position);
    v("count", count);
    v("pid", pid);
    v("watches", watches);
    v("locks", locks);
    v("tcp", tcp);
    v("other_ends", other_ends);
  }
};

}  // namespace hangdbg::reports
