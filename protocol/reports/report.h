// report.json, the part of a report's archive that programs read (`hangdbg
// diff` is one), and what `report --json` writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/json.h"

namespace hangdbg::reports {

constexpr std::string_view kReportFormat = "hangdbg-report";

// Where it was made.
struct ReportMachine {
  std::string host, kernel, arch, system;
  std::int64_t cpus = 0;

  template <class V>
  void fields(V& v) {
    v("host", host);
    v("kernel", kernel);
    v("arch", arch);
    v("system", system);
    v("cpus", cpus);
  }
};

struct ReportProcess {
  std::int64_t pid = 0;
  std::optional<std::int64_t> rank;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v.nullable("rank", rank);
  }
};

struct ReportJob {
  std::string id, kind;
  std::optional<std::int64_t> world_size;

  template <class V>
  void fields(V& v) {
    v("id", id);
    v("kind", kind);
    v.nullable("world_size", world_size);
  }
};

// What a command of hangdbg has printed with --json.
struct ReportPartJson {
  std::string part;                 // "dump"
  std::optional<std::int64_t> pid;  // of a part that is made for each process
  Json json;

  template <class V>
  void fields(V& v) {
    v("part", part);
    v.nullable("pid", pid);
    v("json", json);
  }
};

struct ReportMissing {
  std::string part;
  std::optional<std::int64_t> pid;
  std::string why;

  template <class V>
  void fields(V& v) {
    v("part", part);
    v.nullable("pid", pid);
    v("why", why);
  }
};

struct ReportDocument {
  std::string made;     // "2026-11-25T01:12:42Z"
  std::string hangdbg;  // its version
  ReportMachine machine;
  std::optional<ReportJob> job;
  std::vector<ReportProcess> processes;
  std::vector<ReportPartJson> parts;
  std::vector<ReportMissing> missing;

  template <class V>
  void fields(V& v) {
    v.constant("format", kReportFormat);
    v("made", made);
    v("hangdbg", hangdbg);
    v("machine", machine);
    v.nullable("job", job);
    v("processes", processes);
    v("parts", parts);
    v("missing", missing);
  }
};

struct WrittenFile {
  std::string name;
  std::int64_t bytes = 0;

  template <class V>
  void fields(V& v) {
    v("name", name);
    v("bytes", bytes);
  }
};

// What `report --json` writes.
struct WrittenReport {
  std::string path;
  std::int64_t bytes = 0;
  std::vector<WrittenFile> files;
  std::vector<ReportMissing> missing;

  template <class V>
  void fields(V& v) {
    v("path", path);
    v("bytes", bytes);
    v("files", files);
    v("missing", missing);
  }
};

}  // namespace hangdbg::reports
