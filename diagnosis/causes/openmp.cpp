// OpenMP in a forked process: its thread pool stayed behind in the parent.
// libgomp waits for those threads at its barrier for ever.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg::causes {
namespace {

bool is_openmp(std::string_view path) {
  const std::string_view name = base_name(path);
  return name.starts_with("libgomp") || name.starts_with("libiomp") ||
         name.starts_with("libomp");
}

// How many threads of it are in that library.
std::size_t pool_of(const ProcessSnapshot& process) {
  const PythonProcess* const whole = process.whole();
  if (whole == nullptr) {
    return 0;
  }
  return static_cast<std::size_t>(
      std::ranges::count_if(process.threads, [&](const ThreadSnapshot& one) {
        return std::ranges::any_of(whole->modules, [&](const Module& module) {
          return is_openmp(module.path) && module.contains(one.wait.call.pc);
        });
      }));
}

}  // namespace

Found openmp(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const int parent = of.status.ppid;
  if (!thread.python || !of.forked_from(parent)) {
    return std::nullopt;
  }
  const PythonProcess* const whole = of.whole();
  if (whole == nullptr ||
      std::ranges::none_of(whole->modules, [](const Module& module) {
        return is_openmp(module.path);
      })) {
    return std::nullopt;
  }
  const auto functions = of.native(thread);
  // "GOMP_parallel (libgomp.so.1)", or of one without a name
  // "libgomp.so.1+0x1f823".
  const auto in = std::ranges::find_if(functions, [](const std::string& one) {
    const auto module = one.rfind('(');
    return is_openmp(
        std::string_view(one).substr(module == one.npos ? 0 : module + 1));
  });
  if (in == functions.end() || in - functions.begin() > 3) {
    return std::nullopt;
  }
  const ProcessSnapshot* const before = of.system.snapshot(parent);
  const std::size_t pool = before == nullptr ? 0 : pool_of(*before);
  Cause cause{.id = CauseId::OpenmpFork,
              .progress = Progress::Stuck,
              .confidence = Confidence::Certain};
  cause.summary = fmt::format(
      "waits in OpenMP for threads that stayed behind when {} forked it",
      process_text(parent));
  cause.evidence.push_back(
      fmt::format("in {}, called at {}", *in, thread.place()));
  cause.evidence.push_back(fmt::format(
      "forked from {}; {} {} here", process_text(parent), of.threads.size(),
      of.threads.size() == 1 ? "thread is" : "threads are"));
  if (pool > 0) {
    cause.evidence.push_back(
        fmt::format("{} of that one's threads are in OpenMP's pool", pool));
  }
  cause.next.push_back(
      {fmt::format("kill {}", of.pid),
       "it cannot go on; use the start method \"spawn\", or OMP_NUM_THREADS=1 "
       "before the fork"});
  return cause;
}

}  // namespace hangdbg::causes
