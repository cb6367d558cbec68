#include "client/views/around/json.h"

#include <map>
#include <string>
#include <utility>

#include "base/text.h"
#include "inspector/host/unusual.h"
#include "tracee/proc/signals.h"

namespace hangdbg {
namespace {

std::int64_t whole(std::uint64_t number) {
  return static_cast<std::int64_t>(number);
}

std::optional<std::int64_t> whole(std::optional<std::uint64_t> number) {
  return number ? std::optional(whole(*number)) : std::nullopt;
}

struct JsonMemory {
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

struct JsonCpu {
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

struct JsonPids {
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

struct JsonStall {
  double avg10 = 0, avg60 = 0, avg300 = 0, total_s = 0;

  template <class V>
  void fields(V& v) {
    v("avg10", avg10);
    v("avg60", avg60);
    v("avg300", avg300);
    v("total_s", total_s);
  }
};

struct JsonPressure {
  JsonStall some, full;

  template <class V>
  void fields(V& v) {
    v("some", some);
    v("full", full);
  }
};

struct JsonCgroup {
  std::optional<JsonMemory> memory;
  std::optional<JsonCpu> cpu;
  std::optional<JsonPids> pids;
  std::optional<std::string> frozen;  // the group's path
  std::optional<JsonPressure> memory_pressure;

  template <class V>
  void fields(V& v) {
    v.nullable("memory", memory);
    v.nullable("cpu", cpu);
    v.nullable("pids", pids);
    v.nullable("frozen", frozen);
    v.nullable("memory_pressure", memory_pressure);
  }
};

struct JsonUse {
  std::optional<std::int64_t> used, limit;

  template <class V>
  void fields(V& v) {
    v.nullable("used", used);
    v.nullable("limit", limit);
  }
};

struct JsonLimits {
  JsonUse open_files, user_threads, file_size, address_space, locked_memory;

  template <class V>
  void fields(V& v) {
    v("open_files", open_files);
    v("user_threads", user_threads);
    v("file_size", file_size);
    v("address_space", address_space);
    v("locked_memory", locked_memory);
  }
};

struct JsonMachine {
  std::int64_t cpus = 0, allowed_cpus = 0;
  double load = 0;
  std::int64_t memory_kib = 0, available_kib = 0, swap_kib = 0,
               swap_free_kib = 0;
  std::optional<JsonPressure> cpu_pressure, memory_pressure, io_pressure;

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

struct JsonLibrary {
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

struct JsonFileSystem {
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

struct JsonDeleted {
  std::int64_t fd = 0;
  std::string name;

  template <class V>
  void fields(V& v) {
    v("fd", fd);
    v("name", name);
  }
};

struct JsonInterface {
  std::string name;
  std::int64_t receive_errors = 0, send_errors = 0;

  template <class V>
  void fields(V& v) {
    v("name", name);
    v("receive_errors", receive_errors);
    v("send_errors", send_errors);
  }
};

struct JsonPort {
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

struct JsonGpu {
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

struct JsonKernelEvent {
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

struct JsonSignals {
  std::vector<std::string> pending, blocked, ignored, caught;

  template <class V>
  void fields(V& v) {
    v("pending", pending);
    v("blocked", blocked);
    v("ignored", ignored);
    v("caught", caught);
  }
};

struct JsonAround {
  std::int64_t pid = 0;
  std::vector<std::string> unusual, command_line;
  std::int64_t threads = 0, resident_kib = 0, swapped_kib = 0;
  std::optional<std::int64_t> tracer_pid;
  JsonCgroup cgroup;
  JsonLimits limits;
  JsonSignals signals;
  std::vector<JsonLibrary> libraries;
  std::map<std::string, std::string> environment;
  std::vector<JsonFileSystem> file_systems;
  std::vector<JsonDeleted> deleted_files;
  JsonMachine machine;
  std::vector<JsonInterface> interfaces;
  std::vector<JsonPort> infiniband;
  std::vector<JsonGpu> gpus;
  std::vector<JsonKernelEvent> kernel_events;
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

JsonStall to_json(const Stall& stall) {
  return {stall.avg10, stall.avg60, stall.avg300,
          static_cast<double>(stall.total_us) / 1e6};
}

std::optional<JsonPressure> to_json(const std::optional<Pressure>& pressure) {
  if (!pressure) {
    return {};
  }
  return JsonPressure{to_json(pressure->some), to_json(pressure->full)};
}

JsonCgroup to_json(const CgroupState& state) {
  JsonCgroup json;
  if (state.memory) {
    const CgroupMemory& memory = *state.memory;
    json.memory = {.folder = memory.folder,
                   .current = whole(memory.current),
                   .max = whole(memory.max),
                   .high = whole(memory.high),
                   .inactive_files = whole(memory.inactive_files),
                   .reached = whole(memory.reached),
                   .oom_kills = whole(memory.oom_kills),
                   .waits_for_memory = memory.waits_for_memory};
  }
  if (state.cpu) {
    json.cpu = {
        .folder = state.cpu->folder,
        .cpus = state.cpu->cpus,
        .periods = whole(state.cpu->periods),
        .throttled_periods = whole(state.cpu->throttled_periods),
        .throttled_s =
            std::chrono::duration<double>(state.cpu->throttled).count()};
    if (state.throttling) {
      json.cpu->throttled_now = state.throttling->share;
    }
  }
  if (state.pids) {
    json.pids = {state.pids->folder, whole(state.pids->current),
                 whole(state.pids->max), whole(state.pids->refused)};
  }
  if (state.frozen) {
    json.frozen = state.frozen->path;
  }
  json.memory_pressure = to_json(state.memory_pressure);
  return json;
}

JsonLimits to_json(const Limits& limits) {
  JsonLimits json;
  json.open_files = {whole(limits.open_files),
                     whole(limits.at_most.open_files)};
  json.user_threads = {whole(limits.user_threads),
                       whole(limits.at_most.processes)};
  json.file_size.limit = whole(limits.at_most.file_size);
  json.address_space.limit = whole(limits.at_most.address_space);
  json.locked_memory.limit = whole(limits.at_most.locked_memory);
  return json;
}

JsonMachine to_json(const Machine& machine) {
  return {.cpus = machine.cpus,
          .allowed_cpus = machine.allowed_cpus,
          .load = machine.load,
          .memory_kib = whole(machine.memory_kib),
          .available_kib = whole(machine.available_kib),
          .swap_kib = whole(machine.swap_kib),
          .swap_free_kib = whole(machine.swap_free_kib),
          .cpu_pressure = to_json(machine.cpu_pressure),
          .memory_pressure = to_json(machine.memory_pressure),
          .io_pressure = to_json(machine.io_pressure)};
}

}  // namespace

Json around_json(const HostContext& around) {
  const ProcStatus& status = around.status;
  JsonAround json{.pid = around.pid,
                  .threads = status.threads,
                  .resident_kib = whole(around.usage.resident_kib),
                  .swapped_kib = whole(around.usage.swapped_kib),
                  .cgroup = to_json(around.cgroup),
                  .limits = to_json(around.limits),
                  .machine = to_json(around.machine)};
  for (const std::string& line : environment_warnings(around)) {
    json.unusual.push_back(to_utf8(line));
  }
  for (const std::string& word : around.command_line) {
    json.command_line.push_back(to_utf8(word));
  }
  if (status.tracer_pid != 0) {
    json.tracer_pid = status.tracer_pid;
  }
  json.signals = {
      signal_names(around.usage.pending | around.usage.shared_pending),
      signal_names(status.signals_blocked),
      signal_names(status.signals_ignored),
      signal_names(status.signals_caught)};
  for (const Library& one : around.libraries) {
    json.libraries.push_back(
        {one.family, one.name, to_utf8(one.path), one.version, one.deleted});
  }
  for (const EnvironmentVariable& one : around.variables) {
    json.environment.emplace(to_utf8(one.name), to_utf8(one.value));
  }
  for (const FileSystem& one : around.file_systems) {
    json.file_systems.push_back({to_utf8(one.point), one.type, to_utf8(one.use),
                                 whole(one.bytes), whole(one.bytes_left),
                                 whole(one.files), whole(one.files_left),
                                 one.is_full()});
  }
  for (const DeletedFile& one : around.deleted) {
    json.deleted_files.push_back({one.fd, to_utf8(one.name)});
  }
  for (const NetworkInterface& one : around.interfaces) {
    json.interfaces.push_back(
        {to_utf8(one.name), whole(one.receive_errors), whole(one.send_errors)});
  }
  for (const InfinibandPort& one : around.infiniband) {
    JsonPort port{to_utf8(one.device), one.port, one.state,
                  one.physical,        one.rate, one.layer};
    for (const auto& [name, count] : one.errors) {
      port.errors.emplace(name, whole(count));
    }
    json.infiniband.push_back(std::move(port));
  }
  for (const Gpu& one : around.gpus) {
    JsonGpu gpu{.index = one.index,
                .uuid = to_utf8(one.uuid),
                .name = to_utf8(one.name),
                .used_mib = whole(one.used_mib),
                .memory_mib = whole(one.memory_mib),
                .process_mib = whole(one.process_mib)};
    if (one.busy_percent) {
      gpu.busy_percent = *one.busy_percent;
    }
    json.gpus.push_back(std::move(gpu));
  }
  for (const KernelEvent& one : around.kernel_events) {
    JsonKernelEvent event{.at_s = one.at_s, .text = to_utf8(one.text)};
    if (one.pid != 0) {
      event.pid = one.pid;
    }
    json.kernel_events.push_back(std::move(event));
  }
  json.skipped = around.skipped;
  return encode(json);
}

}  // namespace hangdbg
