// The libraries of a process that matter when it hangs: OpenMP, BLAS, MPI,
// CUDA, NCCL and their like, which version of each, and which of them do not
// go together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace hangdbg {

struct Library {
  std::string family;  // "OpenMP", "NCCL": what there should be one of
  std::string name;    // "GNU OpenMP"
  std::string path;    // as the process named it when it loaded it
  std::optional<std::string> version;
  bool deleted = false;  // the file is gone, or another one by now
};

// Of a library that is larger, the version is not looked for inside.
constexpr std::size_t kMostConstants = 64U << 20;

// By family, and path. Reads files that are mapped and looks at those beside
// them: may wait for their file systems. Errors: those of read_proc_file.
Result<std::vector<Library>> read_libraries(int pid);

// The same without their versions: touches no file.
Result<std::vector<Library>> list_libraries(int pid);

// "two OpenMP runtimes are loaded: ..."; what a library is in short, "libgomp
// of .../torch/lib".
std::vector<std::string> library_clashes(const std::vector<Library>& all);

}  // namespace hangdbg
