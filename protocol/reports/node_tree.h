// What `dump --merge --via` has each node write: the stacks of its processes as
// one tree, in which each way is said once. Read by the same build alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hangdbg::reports {

struct TreePlace {
  std::string function;  // with its module, if it is a C function
  std::string file;
  std::int64_t line = 0;

  template <class V>
  void fields(V& v) {
    v("function", function);
    v("file", file);
    v("line", line);
  }
};

// Of a main thread, which says where its process is.
struct TreeMain {
  std::int64_t end = 0;
  std::string state;
  double waiting_s = 0;

  template <class V>
  void fields(V& v) {
    v("end", end);
    v("state", state);
    v("waiting_s", waiting_s);
  }
};

struct TreeProcess {
  std::int64_t pid = 0;
  std::optional<std::int64_t> rank, world_size;
  std::optional<std::string> job;
  bool child = false;
  std::optional<TreeMain> main;
  std::vector<std::int64_t> ends;    // of its other threads
  std::optional<std::string> error;  // why it could not be read

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("rank", rank);
    v("world_size", world_size);
    v("job", job);
    v("child", child);
    v("main", main);
    v("ends", ends);
    v("error", error);
  }
};

// A node of the tree is a number: its place and its parent, which has a lower
// one, or is -1. A thread is the node in which its stack ends.
struct NodeTree {
  std::vector<TreePlace> places;
  std::vector<std::int64_t> parents, place_of;
  std::vector<TreeProcess> processes;

  template <class V>
  void fields(V& v) {
    v("places", places);
    v("parents", parents);
    v("place_of", place_of);
    v("processes", processes);
  }
};

}  // namespace hangdbg::reports
