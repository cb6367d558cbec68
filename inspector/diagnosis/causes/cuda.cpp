// A call of CUDA that waits for the device: what was given to it has not come
// to its end, or nobody will say so.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "inspector/diagnosis/causes/causes.h"

namespace hangdbg::causes {
namespace {

// The library of the driver, or of the runtime; libraries that have the runtime
// in themselves have it as theirs.
bool is_cuda(std::string_view path) {
  const std::string_view name = base_name(path);
  return name.starts_with("libcuda.so") || name.starts_with("libcudart");
}

bool waits_for_device(std::string_view function) {
  constexpr std::array<std::string_view, 12> kCalls = {"cudaDeviceSynchronize",
                                                       "cudaStreamSynchronize",
                                                       "cudaEventSynchronize",
                                                       "cudaThreadSynchronize",
                                                       "cudaMemcpy",
                                                       "cudaFree",
                                                       "cuCtxSynchronize",
                                                       "cuStreamSynchronize",
                                                       "cuEventSynchronize",
                                                       "cuMemcpy",
                                                       "cuMemFree",
                                                       "cuModuleUnload"};
  return std::ranges::any_of(kCalls, [function](std::string_view call) {
    return function.starts_with(call);
  });
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
  const auto functions = of.native(thread);
  const auto call = std::ranges::find_if(functions, waits_for_device);
  if (call == functions.end()) {
    return std::nullopt;
  }
  Cause cause{.id = "cuda-synchronize",
              .standing = Standing::Waits,
              .confidence = Confidence::Likely,
              .sentence = fmt::format(
                  "waits for the GPU, in {}: what it was given to do has not "
                  "come to its end",
                  *call)};
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
