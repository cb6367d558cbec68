// What `dump --json` has written, perhaps on another machine: as much of it as
// is needed to merge it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "client/terminal/json_error.h"

namespace hangdbg {

struct FileFrame {
  std::string qualname;
  std::string file;
  std::optional<std::int64_t> line;
  std::optional<std::string> module;   // of a native one
  std::optional<std::string> builtin;  // what Python calls it, if it does

  template <class V>
  void fields(V& v) {
    v("qualname", qualname);
    v("file", file);
    v.nullable("line", line);
    v("module", module);
    v("builtin", builtin);
  }
};

struct FileThread {
  std::optional<std::int64_t> tid;
  std::optional<std::string> name;
  std::string state;
  std::optional<double> waiting_s;
  std::vector<FileFrame> frames;  // innermost first

  template <class V>
  void fields(V& v) {
    v.nullable("tid", tid);
    v("name", name);
    v("state", state);
    v.nullable("waiting_s", waiting_s);
    v("frames", frames);
  }
};

struct FileProcess {
  std::int64_t pid = 0;
  std::optional<std::int64_t> rank, world_size;
  std::optional<std::string> job;
  std::optional<bool> child;
  std::string host;
  std::optional<std::string> python;
  std::optional<std::vector<std::string>> cmdline;
  std::vector<FileThread> threads;
  std::optional<JsonError> error;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v.nullable("rank", rank);
    v.nullable("world_size", world_size);
    v("job", job);
    v("child", child);
    v("host", host);
    v("python", python);
    v("cmdline", cmdline);
    v("threads", threads);
    v("error", error);
  }
};

struct FileDumps {
  std::vector<FileProcess> processes;

  template <class V>
  void fields(V& v) {
    v("processes", processes);
  }
};

// "-" is standard input. Errors: System; BadMessage, with the place in it.
Result<std::vector<FileProcess>> read_dump_file(const std::string& path);

}  // namespace hangdbg
