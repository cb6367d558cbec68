// What `around --json` writes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hangdbg::reports {

struct AroundMemory {
  std::string folder;
  std::int64_t current = 0;
  std::optional<std::int64_t> max, high;
  std::int64_t inactive_files = 0, reached = 0, oom_kills = 0;
  bool waits_for_memory = false;

  template <class V>
  void fields(V& v) {
    v("folder", folder);
    v("current", current);
    v.nullable("max", max);
    v.nullable("high", high);
    v("inactive_files", inactive_files);
    v("reached", reached);
    v("oom_kills", oom_kills);
    v("waits_for_memory", waits_for_memory);
  }
};

struct AroundCpu {
  std::string folder;
  std::optional<double> cpus;
  std::int64_t periods = 0, throttled_periods = 0;
  double throttled_s = 0;
  std::optional<double>
      throttled_now;  // of the periods while we looked, 0 to 1

  template <class V>
  void fields(V& v) {
    v("folder", folder);
    v.nullable("cpus", cpus);
    v("periods", periods);
    v("throttled_periods", throttled_periods);
    v("throttled_s", throttled_s);
    v.nullable("throttled_now", throttled_now);
  }
};

struct AroundPids {
  std::string folder;
  std::int64_t current = 0;
  std::optional<std::int64_t> max;
  std::int64_t refused = 0;

  template <class V>
  void fields(V& v) {
    v("folder", folder);
    v("current", current);
    v.nullable("max", max);
    v("refused", refused);
  }
};

struct AroundStall {
  double avg10 = 0, avg60 = 0, avg300 = 0, total_s = 0;

  template <class V>
  void fields(V& v) {
    v("avg10", avg10);
    v("avg60", avg60);
    v("avg300", avg300);
    v("total_s", total_s);
  }
};

struct AroundPressure {
  AroundStall some, full;

  template <class V>
  void fields(V& v) {
    v("some", some);
    v("full", full);
  }
};

struct AroundCgroup {
  std::optional<AroundMemory> memory;
  std::optional<AroundCpu> cpu;
  std::optional<AroundPids> pids;
  std::optional<std::string> frozen;  // the group's path
  std::optional<AroundPressure> memory_pressure;

  template <class V>
  void fields(V& v) {
    v.nullable("memory", memory);
    v.nullable("cpu", cpu);
    v.nullable("pids", pids);
    v.nullable("frozen", frozen);
    v.nullable("memory_pressure", memory_pressure);
  }
};

struct AroundUse {
  std::optional<std::int64_t> used, limit;

  template <class V>
  void fields(V& v) {
    v.nullable("used", used);
    v.nullable("limit", limit);
  }
};

struct AroundLimits {
  AroundUse open_files, user_threads, file_size, address_space, locked_memory;

  template <class V>
  void fields(V& v) {
    v("open_files", open_files);
    v("user_threads", user_threads);
    v("file_size", file_size);
    v("address_space", address_space);
    v("locked_memory", locked_memory);
  }
};

struct AroundMachine {
  std::int64_t cpus = 0, allowed_cpus = 0;
  double load = 0;
  std::int64_t memory_kib = 0, available_kib = 0, swap_kib = 0,
               swap_free_kib = 0;
  std::optional<AroundPressure> cpu_pressure, memory_pressure, io_pressure;

  template <class V>
  void fields(V& v) {
    v("cpus", cpus);
    v("allowed_cpus", allowed_cpus);
    v("load", load);
    v("memory_kib", memory_kib);
    v("available_kib", available_kib);
    v("swap_kib", swap_kib);
    v("swap_free_kib", swap_free_kib);
    v.nullable("cpu_pressure", cpu_pressure);
    v.nullable("memory_pressure", memory_pressure);
    v.nullable("io_pressure", io_pressure);
  }
};

struct AroundLibrary {
  std::string family, name, path;
  std::optional<std::string> version;
  bool deleted = false;

  template <class V>
  void fields(V& v) {
    v("family", family);
    v("name", name);
    v("path", path);
    v.nullable("version", version);
    v("deleted", deleted);
  }
};

struct AroundFileSystem {
  std::string point, type, use;
  std::int64_t bytes = 0, bytes_left = 0, files = 0, files_left = 0;
  bool full = false;

  template <class V>
  void fields(V& v) {
    v("point", point);
    v("type", type);
    v("use", use);
    v("bytes", bytes);
    v("bytes_left", bytes_left);
    v("files", files);
    v("files_left", files_left);
    v("full", full);
  }
};

struct AroundDeleted {
  std::int64_t fd = 0;
  std::string name;

  template <class V>
  void fields(V& v) {
    v("fd", fd);
    v("name", name);
  }
};

struct AroundInterface {
  std::string name;
  std::int64_t receive_errors = 0, send_errors = 0;

  template <class V>
  void fields(V& v) {
    v("name", name);
    v("receive_errors", receive_errors);
    v("send_errors", send_errors);
  }
};

struct AroundPort {
  std::string device;
  std::int64_t port = 0;
  std::string state, physical, rate, layer;
  std::map<std::string, std::int64_t> errors;

  template <class V>
  void fields(V& v) {
    v("device", device);
    v("port", port);
    v("state", state);
    v("physical", physical);
    v("rate", rate);
    v("layer", layer);
    v("errors", errors);
  }
};

struct AroundGpu {
  std::int64_t index = 0;
  std::string uuid, name;
  std::optional<std::int64_t> busy_percent;
  std::int64_t used_mib = 0, memory_mib = 0;
  std::optional<std::int64_t> process_mib;

  template <class V>
  void fields(V& v) {
    v("index", index);
    v("uuid", uuid);
    v("name", name);
    v.nullable("busy_percent", busy_percent);
    v("used_mib", used_mib);
    v("memory_mib", memory_mib);
    v.nullable("process_mib", process_mib);
  }
};

struct AroundKernelEvent {
  double at_s = 0;  // since boot
  std::optional<std::int64_t> pid;
  std::string text;

  template <class V>
  void fields(V& v) {
    v("at_s", at_s);
    v.nullable("pid", pid);
    v("text", text);
  }
};

struct AroundSignals {
  std::vector<std::string> pending, blocked, ignored, caught;

  template <class V>
  void fields(V& v) {
    v("pending", pending);
    v("blocked", blocked);
    v("ignored", ignored);
    v("caught", caught);
  }
};

struct Around {
  std::int64_t pid = 0;
  std::vector<std::string> unusual, command_line;
  std::int64_t threads = 0, resident_kib = 0, swapped_kib = 0;
  std::optional<std::int64_t> tracer_pid;
  AroundCgroup cgroup;
  AroundLimits limits;
  AroundSignals signals;
  std::vector<AroundLibrary> libraries;
  std::map<std::string, std::string> environment;
  std::vector<AroundFileSystem> file_systems;
  std::vector<AroundDeleted> deleted_files;
  AroundMachine machine;
  std::vector<AroundInterface> interfaces;
  std::vector<AroundPort> infiniband;
  std::vector<AroundGpu> gpus;
  std::vector<AroundKernelEvent> kernel_events;
  std::vector<std::string> skipped;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("unusual", unusual);
    v("command_line", command_line);
    v("threads", threads);
    v("resident_kib", resident_kib);
    v("swapped_kib", swapped_kib);
    v.nullable("tracer_pid", tracer_pid);
    v("cgroup", cgroup);
    v("limits", limits);
    v("signals", signals);
    v("libraries", libraries);
    v("environment", environment);
    v("file_systems", file_systems);
    v("deleted_files", deleted_files);
    v("machine", machine);
    v("interfaces", interfaces);
    v("infiniband", infiniband);
    v("gpus", gpus);
    v("kernel_events", kernel_events);
    v("skipped", skipped);
  }
};

}  // namespace hangdbg::reports
