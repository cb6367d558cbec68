// A call of CUDA that waits for the device: its work has not finished, or its
// completion is never signalled.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ranges>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/waits/call_watch.h"
#include "inspector/host/gpus.h"
#include "tracee/proc/proc_tasks.h"

namespace hangdbg::causes {
namespace {

// The library of the driver, or of the runtime; libraries that have the runtime
// in themselves have it as theirs.
bool is_cuda(std::string_view path) {
  const std::string_view name = base_name(path);
  return name.starts_with("libcuda.so") || name.starts_with("libcudart");
}

// Calls that wait for work that is on the device, for room in its queue, or to
// load code there; those that begin so, too ("cudaMemcpyAsync": of pageable
// memory it waits). Calls that make a context are at work for seconds.
bool waits_for_device(const NativeSymbol& symbol) {
  constexpr std::string_view kCalls[] = {"cudaDeviceSynchronize",
                                         "cudaStreamSynchronize",
                                         "cudaEventSynchronize",
                                         "cudaThreadSynchronize",
                                         "cudaMemcpy",
                                         "cudaMemset",
                                         "cudaMalloc",
                                         "cudaHostAlloc",
                                         "cudaHostRegister",
                                         "cudaFree",
                                         "cudaLaunch",
                                         "cudaGraphLaunch",
                                         "cudaFunc",
                                         "cudaLibrary",
                                         "cuCtxSynchronize",
                                         "cuStreamSynchronize",
                                         "cuEventSynchronize",
                                         "cuMemcpy",
                                         "cuMemset",
                                         "cuMemAlloc",
                                         "cuMemHostAlloc",
                                         "cuMemHostRegister",
                                         "cuMemFree",
                                         "cuLaunch",
                                         "cuGraphLaunch",
                                         "cuModule",
                                         "cuLibrary",
                                         "cuKernel",
                                         "cuFunc"};
  const std::string_view function = symbol.function;
  return (function.starts_with("cuda") || is_cuda(symbol.module)) &&
         std::ranges::any_of(kCalls, [function](std::string_view call) {
           return function.starts_with(call);
         });
}

// These do not wait for the device with driver 580, and may with others; to pin
// much memory takes the kernel long.
bool allocates(const NativeSymbol& symbol) {
  return symbol.function.find("Alloc") != std::string::npos ||
         symbol.function.find("Malloc") != std::string::npos ||
         symbol.function.find("HostRegister") != std::string::npos;
}

// Of its CPU time, in the kernel's ticks; zeroes where that is not known.
struct CpuTicks {
  std::uint64_t system = 0;
  std::uint64_t all = 0;
};

CpuTicks ticks_of(const ThreadSnapshot& thread) {
  const auto stat = read_task_stat(thread.id.pid, thread.id.tid);
  return stat ? CpuTicks{stat->system_ticks, stat->cpu_ticks} : CpuTicks{};
}

// A compiler of the driver's own, or another one's: it is at work.
bool is_compiler(std::string_view library) {
  return library.starts_with("libnvidia-") || library.starts_with("libnvrtc") ||
         library.starts_with("libnvJitLink");
}

std::optional<StackEntry> device_call(const ProcessSnapshot& of,
                                      const ThreadSnapshot& thread) {
  const auto calls = of.native_calls(thread);
  const auto call =
      std::ranges::find_if(calls, waits_for_device, &StackEntry::native);
  const bool compiles = std::any_of(
      calls.begin(), call,
      [](const StackEntry& inner) { return is_compiler(inner.native.module); });
  return call == calls.end() || compiles ? std::nullopt : std::optional(*call);
}

// Adds torch's collectives that the device has not completed.
void tell_collectives(const ProcessSnapshot& of, Cause& cause) {
  bool open = false;
  for (const ProcessGroup& group : of.process_groups().groups) {
    for (const GroupBackend& backend : group.backends) {
      if (backend.type == "ProcessGroupNCCL" && backend.open()) {
        cause.evidence.push_back(fmt::format(
            "torch has given {} {} of group {} to NCCL, and it is not over: "
            "the GPU may wait for other ranks there",
            backend.enqueued->name, backend.enqueued->number, group.name));
        open = true;
      }
    }
  }
  if (open) {
    cause.next.push_back(
        {"hangdbg dist --job auto", "which rank has not come there"});
  }
}

// The load of the devices on which the process has memory; of all devices if
// the owner of that memory is unknown, as in a container.
void tell_use(const ProcessSnapshot& of, Cause& cause) {
  constexpr std::chrono::seconds kEnough{4};  // a sleeping device wakes up
  constexpr std::size_t kMostGpus = 8;
  if (!of.system.may_watch || of.system.deadline().left() < kEnough) {
    return;
  }
  auto gpus = read_gpus(of.pid, Deadline::in(kEnough));
  if (!gpus) {
    if (gpus.error().id == ErrorId::TimedOut) {
      cause.evidence.push_back(fmt::format(
          "nvidia-smi did not answer within {} s", kEnough.count()));
    }
    return;
  }
  const auto is_other = [](const Gpu& one) { return !one.process_mib; };
  if (!std::ranges::all_of(*gpus, is_other)) {
    std::erase_if(*gpus, is_other);
  }
  for (const Gpu& one : *gpus | std::views::take(kMostGpus)) {
    cause.evidence.push_back("GPU " + gpu_text(one));
  }
}

// "called at train.py:12 in step, and looks again and again, cpu 100 %"
std::string called_text(const ThreadSnapshot& thread) {
  if (!thread.python) {
    return "called by C code of " + thread.who();
  }
  return fmt::format(
      "called at {}, {}", thread.place(),
      thread.wait.syscall.empty()
          ? fmt::format("and looks again and again, cpu {:.0f} %",
                        thread.cpu_percent)
          : "asleep in " + thread.wait.syscall);
}

}  // namespace

Found cuda(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const PythonProcess* const whole = of.whole();
  if (whole == nullptr ||
      std::ranges::none_of(whole->modules, [](const Module& module) {
        return is_cuda(module.path);
      })) {
    return std::nullopt;
  }
  const auto call = device_call(of, thread);
  if (!call) {
    return std::nullopt;
  }
  const std::string in = printable(call->native.text());
  const CpuTicks before = ticks_of(thread);
  const CallWatch watch = watch_call(of, thread, *call);
  const CpuTicks after = ticks_of(thread);
  Cause cause{.id = CauseId::CudaSynchronize,
              .evidence = {watch.told, called_text(thread)}};
  if (watch.came_back) {
    cause.progress = Progress::Running;
    cause.summary = fmt::format("waits for the GPU, in {}, and goes on", in);
    return cause;
  }
  // Of the time that it has had: a busy machine gives it little.
  if (allocates(call->native) && watch.watched && after.all > before.all &&
      2 * (after.system - before.system) > after.all - before.all) {
    cause.progress = Progress::Running;
    cause.summary =
        fmt::format("is in {}, and the kernel is at work for it", in);
    return cause;
  }
  say_watched(watch, cause);
  const bool keeps_gil =
      of.gil && of.gil->locked && of.gil->holder_tid == thread.id.tid;
  cause.summary = fmt::format(
      "waits for the GPU, in {}{}: what it was given to do has not come to its "
      "end",
      in, keeps_gil ? ", and keeps the GIL" : "");
  tell_use(of, cause);
  tell_collectives(of, cause);
  cause.next.push_back(
      {"nvidia-smi", "whether the GPU is at work, and on what"});
  cause.next.push_back(
      {fmt::format("hangdbg dump {} --native", of.pid),
       "who has called it: a copy, an .item(), an explicit synchronize"});
  return cause;
}

}  // namespace hangdbg::causes
