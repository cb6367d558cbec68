// A call of CUDA that waits for the device: what was given to it has not come
// to its end, or nobody will say so.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ranges>
#include <thread>

#include "base/text.h"
#include "inspector/diagnosis/causes/causes.h"
#include "inspector/python_locals.h"
#include "tracee/execution_counter.h"

namespace hangdbg::causes {
namespace {

// The library of the driver, or of the runtime; libraries that have the runtime
// in themselves have it as theirs.
bool is_cuda(std::string_view path) {
  const std::string_view name = base_name(path);
  return name.starts_with("libcuda.so") || name.starts_with("libcudart");
}

// Calls that wait for work that is on the device, or for room in its queue;
// those that begin so, too ("cudaMemcpyAsync": of pageable memory it waits).
bool waits_for_device(std::string_view function) {
  constexpr std::array<std::string_view, 25> kCalls = {"cudaDeviceSynchronize",
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
                                                       "cuModuleUnload",
                                                       "cuLibraryUnload"};
  return std::ranges::any_of(kCalls, [function](std::string_view call) {
    return function.starts_with(call);
  });
}

std::optional<StackEntry> device_call(const Case& of,
                                      const CaseThread& thread) {
  const auto calls = of.native_calls(thread);
  const auto call =
      std::ranges::find_if(calls, waits_for_device, [](const StackEntry& one) {
        return std::string_view(one.native.function);
      });
  return call == calls.end() ? std::nullopt : std::optional(*call);
}

// One that trains is in such a call nearly always, and comes back. So it is
// counted whether it does; where that cannot be, what Python has must not
// change.
struct GpuWatch {
  bool goes_on = false;
  std::string told;  // what was seen
};

std::string python_of(const Case& of, const CaseThread& thread) {
  constexpr std::size_t kFrames = 5;
  std::string text;
  const auto heap = Heap::open(of.process().memory, of.process().python);
  for (const PythonFrame& frame : thread.frames() | std::views::take(kFrames)) {
    const auto variables = heap ? read_locals(*heap, frame.address, frame.code)
                                : std::unexpected(heap.error());
    if (!variables) {
      continue;
    }
    for (const Variable& one : *variables) {
      text += fmt::format(
          "{} {:x} {}\n", one.name, one.object.value,
          repr(*heap, one.object, {.depth = 1, .items = 3, .text = 40}));
    }
  }
  return text;
}

// A look at who runs may fail.
bool is_in(const Case& of, const CaseThread& thread, const StackEntry& call) {
  constexpr int kTries = 3;
  for (int i = 0; i < kTries; ++i) {
    const auto now = device_call(of, thread);
    if (now && now->returns_to == call.returns_to) {
      return true;
    }
  }
  return false;
}

GpuWatch watch_device_call(const Case& of,
                           const CaseThread& thread,
                           const StackEntry& call) {
  constexpr std::chrono::milliseconds kWatch{1000};
  constexpr std::chrono::milliseconds kBetweenLooks{20};
  const auto time = std::min<Deadline::Clock::duration>(
      kWatch, of.world.deadline().left() / 4);
  const Deadline end = Deadline::in(time);
  const auto counter =
      call.returns_to ? ExecutionCounter::open(thread.id.tid, call.returns_to)
                      : std::unexpected(Error{
                            .message = "where it returns to is not known"});
  const std::string before = counter ? "" : python_of(of, thread);
  bool came_back = false;
  while (!came_back && !end.expired()) {
    std::this_thread::sleep_for(
        std::min<Deadline::Clock::duration>(kBetweenLooks, end.left()));
    came_back = counter && counter->count().value_or(0) > 0;
  }
  const double seconds = std::chrono::duration<double>(time).count();
  // Who was there before, and had left when it began to be counted, is not
  // there.
  if (came_back || !is_in(of, thread, call)) {
    return {true, fmt::format("it came back from it within {:.1f} s", seconds)};
  }
  if (counter) {
    return {false, fmt::format("did not come back from it in the {:.1f} s that "
                               "it was watched",
                               seconds)};
  }
  return {python_of(of, thread) != before,
          fmt::format("whether it comes back was not counted: {}; what its "
                      "Python functions have was looked at for {:.1f} s",
                      counter.error().text(), seconds)};
}

}  // namespace

Found cuda(const Case& of, const CaseThread& thread) {
  if (!thread.python) {
    return std::nullopt;
  }
  const InspectedProcess* const whole = of.whole();
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
  const GpuWatch watch = watch_device_call(of, thread, *call);
  Cause cause{.id = "cuda-synchronize"};
  if (watch.goes_on) {
    cause.standing = Standing::Works;
    cause.sentence = fmt::format("waits for the GPU, in {}, and goes on", in);
  } else {
    const bool keeps_gil =
        of.gil && of.gil->locked && of.gil->holder_tid == thread.id.tid;
    cause.sentence = fmt::format(
        "waits for the GPU, in {}{}: what it was given to do has not come to "
        "its "
        "end",
        in, keeps_gil ? ", and keeps the GIL" : "");
  }
  cause.evidence.push_back(watch.told);
  cause.evidence.push_back(
      fmt::format("called at {}, {}", thread.place(),
                  thread.wait.syscall.empty()
                      ? fmt::format("and looks again and again, cpu {:.0f} %",
                                    thread.cpu_percent)
                      : "asleep in " + thread.wait.syscall));
  cause.next.push_back(
      {"nvidia-smi", "whether the GPU is at work, and on what"});
  cause.next.push_back(
      {fmt::format("hangdbg dump {} --native", of.pid),
       "who has called it: a copy, an .item(), an explicit synchronize"});
  return cause;
}

}  // namespace hangdbg::causes
