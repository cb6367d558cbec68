#include "inspector/host/libraries.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "base/text.h"
#include "inspector/host/library_version.h"
#include "tracee/proc/proc_maps.h"
#include "tracee/proc/target_files.h"

namespace hangdbg {
namespace {

// One whose file name begins so, not followed by a letter: a wheel's has a
// number of its own there, "libgomp-a34b3233.so.1.0.0".
struct Known {
  std::string_view file;
  std::string_view family;
  std::string_view name;
};
constexpr std::array kKnownLibraries = {
    Known{"libgomp", "OpenMP", "GNU OpenMP"},
    Known{"libiomp5", "OpenMP", "Intel OpenMP"},
    Known{"libomp", "OpenMP", "LLVM OpenMP"},
    Known{"libomp5", "OpenMP", "LLVM OpenMP"},
    Known{"libnccl", "NCCL", "NCCL"},
    Known{"librccl", "NCCL", "RCCL"},
    Known{"libnccl-net", "NCCL plugin", "NCCL network plugin"},
    Known{"libgloo", "gloo", "gloo"},
    Known{"libcudart", "CUDA runtime", "CUDA runtime"},
    Known{"libcuda", "CUDA driver", "CUDA driver"},
    Known{"libcudnn", "cuDNN", "cuDNN"},
    Known{"libcublas", "cuBLAS", "cuBLAS"},
    Known{"libamdhip64", "HIP", "HIP"},
    Known{"libmpi", "MPI", "Open MPI"},
    Known{"libmpich", "MPI", "MPICH"},
    Known{"libucp", "UCX", "UCX"},
    Known{"libfabric", "libfabric", "libfabric"},
    Known{"libibverbs", "verbs", "libibverbs"},
    Known{"libopenblas", "OpenBLAS", "OpenBLAS"},
    Known{"libopenblasp", "OpenBLAS", "OpenBLAS"},
    Known{"libopenblas64_", "OpenBLAS", "OpenBLAS"},
    Known{"libopenblas64_p", "OpenBLAS", "OpenBLAS"},
    Known{"libscipy_openblas", "OpenBLAS", "OpenBLAS"},
    Known{"libscipy_openblas64_", "OpenBLAS", "OpenBLAS"},
    Known{"libmkl_core", "MKL", "MKL"},
    Known{"libmkl_rt", "MKL", "MKL"},
    Known{"libblis", "BLIS", "BLIS"},
    Known{"libtorch_cpu", "torch", "torch"},
    Known{"libtensorflow_framework", "TensorFlow", "TensorFlow"},
    Known{"libc", "libc", "GNU C library"},
};

// Of these, more than one in a process is asking for it. Of OpenBLAS, numpy and
// scipy bring one each, which is well.
constexpr std::array<std::string_view, 6> kOnlyOne = {
    "OpenMP", "NCCL", "CUDA runtime", "CUDA driver", "MPI", "torch"};

constexpr std::string_view kDeleted = " (deleted)";

const Known* find_known(std::string_view path) {
  const std::string_view file = base_name(path);
  if (file.find(".so") == file.npos) {
    return nullptr;
  }
  const Known* found = nullptr;
  for (const Known& one : kKnownLibraries) {
    const std::string_view rest =
        file.substr(std::min(file.size(), one.file.size()));
    if (file.starts_with(one.file) &&
        (rest.starts_with('.') || rest.starts_with('-')) &&
        (found == nullptr || one.file.size() > found->file.size())) {
      found = &one;
    }
  }
  return found;
}

template <class Visit>
Status for_each_known(int pid, const Visit& visit) {
  std::set<std::string_view> seen;
  const auto modules = find_modules(TRY(read_maps(pid)));
  for (const Module& module : modules) {
    const bool deleted = module.path.ends_with(kDeleted);
    std::string_view path = module.path;
    path.remove_suffix(deleted ? kDeleted.size() : 0);
    const Known* const known = find_known(path);
    if (known != nullptr && seen.insert(module.path).second) {
      visit(module, Library{.family = std::string(known->family),
                            .name = std::string(known->name),
                            .path = std::string(path),
                            .deleted = deleted});
    }
  }
  return {};
}

void sort_libraries(std::vector<Library>& libraries) {
  std::ranges::sort(libraries, {}, [](const Library& one) {
    return std::tuple(std::string_view(one.family), std::string_view(one.path));
  });
}

// "libgomp.so.1.0.0 of /opt/torch/lib"
std::string in_short(const Library& one) {
  const std::string_view path = one.path;
  return fmt::format("{} in {}", base_name(path),
                     path.substr(0, path.rfind('/')));
}

}  // namespace

Result<std::vector<Library>> read_libraries(int pid) {
  std::vector<Library> found;
  const TargetFiles files(pid);
  TRY(for_each_known(pid, [&](const Module& module, Library library) {
    library.version = library_version(library, module, files);
    found.push_back(std::move(library));
  }));
  sort_libraries(found);
  return found;
}

Result<std::vector<Library>> list_libraries(int pid) {
  std::vector<Library> found;
  TRY(for_each_known(pid, [&](const Module&, Library library) {
    found.push_back(std::move(library));
  }));
  sort_libraries(found);
  return found;
}

std::vector<std::string> library_clashes(const std::vector<Library>& all) {
  std::vector<std::string> clashes;
  for (const std::string_view family : kOnlyOne) {
    std::string names;
    std::size_t count = 0;
    for (const Library& one : all) {
      if (one.family == family) {
        names += fmt::format("{}{}", count++ == 0 ? "" : ", ", in_short(one));
      }
    }
    if (count > 1) {
      clashes.push_back(
          fmt::format("{} of {} are loaded: {}", count, family, names));
    }
  }
  for (const Library& one : all) {
    if (one.deleted) {
      clashes.push_back(
          fmt::format("{} was deleted or replaced after it was "
                      "loaded",
                      one.path));
    }
  }
  return clashes;
}

}  // namespace hangdbg
