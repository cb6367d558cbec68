// The GPUs of NVIDIA, and what a process has of them, as nvidia-smi says: the
// driver's library cannot be loaded into a static program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"

namespace hangdbg {

struct Gpu {
  int index = 0;
  std::string uuid, name;
  std::optional<int> busy_percent;  // of the last moment; not said by all
  std::uint64_t used_mib = 0, memory_mib = 0;
  std::optional<std::uint64_t> process_mib;  // if the process has any of it
};

// By index. Errors: System, where there is no nvidia-smi, or it fails;
// TimedOut: then the driver hangs, too.
Result<std::vector<Gpu>> read_gpus(int pid, Deadline deadline);

// "0 NVIDIA A100-SXM4-80GB · 100 % busy · 4321 of 81920 MiB used, 4096 of it by
// this process".
std::string gpu_text(const Gpu& gpu);

// "0, GPU-3a..., NVIDIA A100-SXM4-80GB, 100, 4321, 81920" a line.
std::vector<Gpu> parse_gpus(std::string_view text);

// "1234, GPU-3a..., 4096" a line: those of `pid` are put into `gpus`.
void take_process_memory(std::string_view text,
                         int pid,
                         std::vector<Gpu>& gpus);

}  // namespace hangdbg
