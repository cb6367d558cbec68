#include "diagnosis/waits/awaited_call.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "inspector/cpython/locks/stdlib_blocking_frames.h"
#include "inspector/jobs/mpi_programs.h"

namespace hangdbg {
namespace {

constexpr std::string_view kMpi = "MPI_";

bool is_in(const PythonFrame& frame, std::string_view folder) {
  return frame.file.find(folder) != std::string::npos;
}

// All ranks of a group must call it (MPI: A Message-Passing Interface Standard,
// chapter 6); also its form for large counts, "..._c".
bool is_collective(std::string_view function) {
  constexpr std::array<std::string_view, 16> kBegin = {
      "Allgather", "Allreduce",   "Alltoall", "Barrier",
      "Bcast",     "Comm_create", "Comm_dup", "Comm_split",
      "Exscan",    "Finalize",    "Gather",   "Init",
      "Reduce",    "Scan",        "Scatter",  "Win_fence"};
  return !function.starts_with("Reduce_local") &&
         std::ranges::any_of(kBegin, [function](std::string_view name) {
           return function.starts_with(name);
         });
}

// It returns when a message has been received or sent (chapter 3).
bool waits_for_message(std::string_view function) {
  constexpr std::array<std::string_view, 8> kBegin = {
      "Mprobe", "Mrecv", "Probe", "Recv", "Rsend", "Send", "Ssend", "Wait"};
  return !function.ends_with("_init") &&
         std::ranges::any_of(kBegin, [function](std::string_view name) {
           return function.starts_with(name);
         });
}

}  // namespace

std::optional<CollectiveCall> awaited_call(const ProcessSnapshot& of,
                                           const ThreadSnapshot& thread) {
  auto call = torch_call(of, thread);
  if (!call) {
    if (auto mpi = mpi_call(of, thread)) {
      call = CollectiveCall{.function = std::move(mpi->function)};
    }
  }
  return call;
}

std::optional<CollectiveCall> torch_call(const ProcessSnapshot& of,
                                         const ThreadSnapshot& thread) {
  // The program's code that a collective calls, to pickle an object, is not
  // part of the wait.
  const auto& frames = thread.frames();
  const auto inner = std::ranges::find_if(
      frames, [](const PythonFrame& frame) { return is_in(frame, "/torch/"); });
  const bool own = std::any_of(
      frames.begin(), inner,
      [](const PythonFrame& frame) { return !is_library(frame.file); });
  const bool distributed =
      std::any_of(inner, frames.end(), [](const PythonFrame& frame) {
        return is_in(frame, "/torch/distributed/");
      });
  if (!own && distributed && of.is_python()) {
    return read_collective_call(of.objects(), thread.stack,
                                of.process_groups());
  }
  return std::nullopt;
}

// By the C function that Python has called: it runs all the time, polling for
// the others.
std::optional<MpiCall> mpi_call(const ProcessSnapshot& of,
                                const ThreadSnapshot& thread) {
  const PythonProcess* const whole = thread.python ? of.whole() : nullptr;
  if (whole == nullptr ||
      std::ranges::none_of(whole->modules, is_mpi_library, &Module::path)) {
    return std::nullopt;
  }
  for (const StackEntry& entry : of.native_calls(thread)) {
    std::string_view function = entry.native.function;
    function = function.substr(function.starts_with("PMPI_") ? 1 : 0);
    if (!function.starts_with(kMpi)) {
      continue;
    }
    const std::string_view name = function.substr(kMpi.size());
    if (is_collective(name) || waits_for_message(name)) {
      return MpiCall{std::string(function), entry.returns_to};
    }
  }
  return std::nullopt;
}

bool is_message(const CollectiveCall& call) {
  return is_of_mpi(call) &&
         waits_for_message(std::string_view(call.function).substr(kMpi.size()));
}

std::optional<CollectiveCall> pending_call(const ProcessSnapshot& of,
                                           const ThreadSnapshot& thread) {
  if (!thread.python || !thread.sleeps_in("futex") || !of.is_python()) {
    return std::nullopt;
  }
  for (const ProcessGroup& group : of.process_groups().groups) {
    const auto open = std::ranges::find_if(group.backends, &GroupBackend::open);
    if (open != group.backends.end()) {  // torch's name there is "ALLREDUCE"
      return CollectiveCall{.function = open->enqueued->name,
                            .group = group.name};
    }
  }
  return std::nullopt;
}

}  // namespace hangdbg
