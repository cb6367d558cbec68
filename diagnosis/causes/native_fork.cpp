// A library with threads of its own in a forked process: they, and the locks
// that they held, stayed behind in the parent.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg::causes {
namespace {

struct Library {
  std::string_view begins;  // the file's name
  std::string_view name;
  std::string_view remedy;  // beside the start method
};

constexpr std::array kNativeLibraries = {
    Library{"tokenizers", "tokenizers",
            "set TOKENIZERS_PARALLELISM=false, or use the start method "
            "\"spawn\""},
    Library{"libopenblas", "OpenBLAS",
            "set OPENBLAS_NUM_THREADS=1, or use the start method \"spawn\""},
    Library{"libscipy_openblas", "OpenBLAS",
            "set OPENBLAS_NUM_THREADS=1, or use the start method \"spawn\""},
    Library{"libmkl", "MKL",
            "set MKL_NUM_THREADS=1, or use the start method \"spawn\""},
    Library{"cygrpc", "gRPC",
            "set GRPC_ENABLE_FORK_SUPPORT=true before gRPC is imported, or use "
            "the start method \"spawn\""},
    Library{"polars", "polars", ""},
    Library{"_polars", "polars", ""},
    Library{"libarrow", "Arrow", ""},
    Library{"libtensorflow", "TensorFlow", ""},
    Library{"_pywrap_tensorflow", "TensorFlow", ""},
    Library{"libtorch", "torch", ""},
    Library{"libtbb", "TBB", ""},
    Library{"libjemalloc", "jemalloc", ""},
    Library{"libcrypto", "OpenSSL", ""},
};

// The functions by which any library waits.
bool is_of_c_library(std::string_view name) {
  constexpr std::array<std::string_view, 7> kNames = {
      "libc.so",      "libc-",     "libpthread", "ld-",
      "libstdc++.so", "libgcc_s.", "["};
  return name.empty() ||
         std::ranges::any_of(kNames, [name](std::string_view one) {
           return name.starts_with(one);
         });
}

bool is_python_itself(const ProcessSnapshot& of, std::string_view name) {
  if (name.starts_with("python") || name.starts_with("libpython")) {
    return true;
  }
  const PythonProcess* const whole = of.whole();
  return whole == nullptr ||
         std::ranges::any_of(whole->modules, [&](const Module& one) {
           return base_name(one.path) == name &&
                  one.path.find("/lib-dynload/") != std::string::npos;
         });
}

// The file of the library in whose code a thread sleeps; "" if there is only
// Python.
std::string library_of(const ProcessSnapshot& of,
                       const ThreadSnapshot& thread) {
  for (const StackEntry& entry : of.native_calls(thread)) {
    const std::string name(base_name(entry.native.module));
    if (!is_of_c_library(name)) {
      return is_python_itself(of, name) ? "" : name;
    }
  }
  return "";
}

// How many threads without Python are in that library, among some.
std::size_t threads_in(const ProcessSnapshot& of, const std::string& library) {
  constexpr std::size_t kMostAsked = 4;
  std::size_t asked = 0;
  std::size_t found = 0;
  for (const ThreadSnapshot& one : of.threads) {
    if (!one.python && asked < kMostAsked) {
      ++asked;
      const auto calls = of.native_calls(one);
      found += std::ranges::any_of(calls, [&](const StackEntry& entry) {
        return base_name(entry.native.module) == library;
      });
    }
  }
  return found;
}

}  // namespace

Found native_fork(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const int parent = of.status.ppid;
  if (!of.is_python() || !thread.python || thread.ran ||
      !thread.sleeps_in("futex") || thread.has_timeout() ||
      !of.forked_from(parent)) {
    return std::nullopt;
  }
  const std::string library = library_of(of, thread);
  if (library.empty()) {
    return std::nullopt;
  }
  const auto* const known = std::ranges::find_if(
      kNativeLibraries,
      [&](const Library& one) { return library.starts_with(one.begins); });
  const bool named = known != kNativeLibraries.end();
  const std::string name =
      named ? fmt::format("{} ({})", known->name, printable(library))
            : printable(library);
  const auto others = std::ranges::count_if(
      of.threads, [](const ThreadSnapshot& one) { return !one.python; });
  // Another thread of Python may be in the library, too, and end the wait.
  const auto beside = of.python_threads();
  const bool alone =
      others == 0 &&
      std::ranges::none_of(beside, [&](const ThreadSnapshot* one) {
        return one != &thread && one->sleeps_in("futex") &&
               library_of(of, *one) == library;
      });
  const ProcessSnapshot* const before = of.system.snapshot(parent);
  const std::size_t there =
      before != nullptr ? threads_in(*before, library) : 0;
  Cause cause{
      .id = CauseId::ForkThreads,
      .progress = alone ? Progress::Stuck : Progress::Blocked,
      .confidence = !alone      ? Confidence::Possible
                    : there > 0 ? Confidence::Certain
                                : Confidence::Likely,
      .summary = fmt::format(
          "waits in {} for a thread or a lock that stayed behind when {} "
          "forked it",
          name, process_text(parent))};
  cause.evidence.push_back(thread.place());
  cause.evidence.push_back(
      fmt::format("forked from {}: only the thread that forked came along",
                  process_text(parent)));
  if (there > 0) {
    cause.evidence.push_back(fmt::format(
        "{} has threads in {}{}", process_text(parent), printable(library),
        others == 0 ? ", and here is none" : ""));
  }
  if (others > 0) {
    cause.evidence.push_back(
        fmt::format("{} threads without Python are here", others));
  }
  constexpr std::size_t kMostEvidence = 7;
  for (const std::string& function : of.native(thread)) {
    if (cause.evidence.size() < kMostEvidence) {
      cause.evidence.push_back("in " + function);
    }
  }
  cause.next.push_back(
      {fmt::format("kill {}", of.pid),
       fmt::format("{}; {}", alone ? "it cannot go on" : "if it does not go on",
                   named && !known->remedy.empty()
                       ? known->remedy
                       : "use the start method \"spawn\" or \"forkserver\"")});
  return cause;
}

}  // namespace hangdbg::causes
