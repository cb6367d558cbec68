// An open descriptor as commands show it: a line of text, an object of JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/terminal/render.h"
#include "tracee/net/descriptors.h"

namespace hangdbg {

// What it leads to: "pipe:[4242], read by 99 (cat) fd 0". `unseen`: of so many
// processes it could not be seen which pipes they have.
std::string descriptor_text(const Descriptor& one,
                            std::size_t unseen,
                            const Palette& out);
std::string mode_of(const OpenFile& file);  // "r", "w", "rw"

struct JsonEnd {
  std::int64_t pid = 0;
  std::int64_t fd = 0;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("fd", fd);
  }
};

struct JsonTcp {
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

struct JsonLock {
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

struct JsonDescriptor {
  std::int64_t fd = 0;
  std::string kind, name, mode;
  bool deleted = false;
  std::int64_t position = 0;
  std::optional<std::int64_t> count, pid;
  std::vector<int> watches;
  std::vector<JsonLock> locks;
  std::optional<JsonTcp> tcp;
  std::optional<std::vector<JsonEnd>> other_ends;

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

JsonDescriptor to_json(const Descriptor& from);

}  // namespace hangdbg
