// As much of a report's parts as `diff` compares, of whatever version of
// hangdbg.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hangdbg::reports {

// As much as tells what a document is.
struct ComparedDocument {
  std::optional<std::string> format;
  Json processes;

  template <class V>
  void fields(V& v) {
    v("format", format);
    v("processes", processes);
  }
};

struct ComparedDescriptorKind {
  std::string kind;
  template <class V>
  void fields(V& v) {
    v("kind", kind);
  }
};

struct ComparedDescriptorKinds {
  std::vector<ComparedDescriptorKind> descriptors;
  template <class V>
  void fields(V& v) {
    v("descriptors", descriptors);
  }
};

struct ComparedCauseFields {
  std::optional<bool> hung;
  std::optional<std::string> cause, summary;
  template <class V>
  void fields(V& v) {
    v("hung", hung);
    v("cause", cause);
    v("summary", summary);
  }
};

struct ComparedOneOf {
  std::optional<std::int64_t> pid;
  std::optional<ComparedCauseFields> diagnosis;
  template <class V>
  void fields(V& v) {
    v.nullable("pid", pid);
    v.nullable("diagnosis", diagnosis);
  }
};

// Of one process, of several, or of a job.
struct ComparedDiagnosed {
  std::optional<std::int64_t> pid;
  ComparedCauseFields own;
  std::optional<std::vector<ComparedOneOf>> processes, ranks;
  template <class V>
  void fields(V& v) {
    v("pid", pid);
    own.fields(v);
    v("processes", processes);
    v("ranks", ranks);
  }
};

// As much of `around --json` as is not another one every second.
struct ComparedLimit {
  std::optional<std::int64_t> limit;
  template <class V>
  void fields(V& v) {
    v.nullable("limit", limit);
  }
};

struct ComparedLimitsAround {
  std::optional<ComparedLimit> open_files, user_threads, file_size,
      address_space, locked_memory;
  template <class V>
  void fields(V& v) {
    v("open_files", open_files);
    v("user_threads", user_threads);
    v("file_size", file_size);
    v("address_space", address_space);
    v("locked_memory", locked_memory);
  }
};

struct ComparedMost {
  std::optional<std::int64_t> max;
  std::optional<double> cpus;
  template <class V>
  void fields(V& v) {
    v.nullable("max", max);
    v.nullable("cpus", cpus);
  }
};

struct ComparedCgroupAround {
  std::optional<ComparedMost> memory, cpu, pids;
  template <class V>
  void fields(V& v) {
    v.nullable("memory", memory);
    v.nullable("cpu", cpu);
    v.nullable("pids", pids);
  }
};

struct ComparedSignalsAround {
  std::vector<std::string> blocked, ignored;
  template <class V>
  void fields(V& v) {
    v("blocked", blocked);
    v("ignored", ignored);
  }
};

struct ComparedLibraryAround {
  std::string name, path;
  std::optional<std::string> version;
  template <class V>
  void fields(V& v) {
    v("name", name);
    v("path", path);
    v.nullable("version", version);
  }
};

struct ComparedMachineAround {
  std::int64_t allowed_cpus = 0, memory_kib = 0, swap_kib = 0;
  template <class V>
  void fields(V& v) {
    v("allowed_cpus", allowed_cpus);
    v("memory_kib", memory_kib);
    v("swap_kib", swap_kib);
  }
};

// Of whatever version of hangdbg.
struct ComparedAround {
  std::optional<std::vector<std::string>> unusual;
  std::optional<ComparedCgroupAround> cgroup;
  std::optional<ComparedLimitsAround> limits;
  std::optional<ComparedSignalsAround> signals;
  std::optional<std::vector<ComparedLibraryAround>> libraries;
  std::optional<std::map<std::string, std::string>> environment;
  std::optional<ComparedMachineAround> machine;
  template <class V>
  void fields(V& v) {
    v("unusual", unusual);
    v("cgroup", cgroup);
    v("limits", limits);
    v("signals", signals);
    v("libraries", libraries);
    v("environment", environment);
    v("machine", machine);
  }
};

}  // namespace hangdbg::reports
