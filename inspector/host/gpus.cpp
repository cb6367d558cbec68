#include "inspector/host/gpus.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "tracee/host/child_output.h"

namespace hangdbg {
namespace {

std::vector<std::string_view> cells(std::string_view line) {
  std::vector<std::string_view> words;
  for (const std::string_view word : split(line, ',')) {
    words.push_back(trim(word));
  }
  return words;
}

}  // namespace

Result<std::vector<Gpu>> read_gpus(int pid, Deadline deadline) {
  const std::string format = "--format=csv,noheader,nounits";
  auto gpus = parse_gpus(TRY(output_of(
      {"nvidia-smi",
       "--query-gpu=index,uuid,name,utilization.gpu,memory.used,memory.total",
       format},
      deadline)));
  take_process_memory(
      TRY(output_of({"nvidia-smi",
                     "--query-compute-apps=pid,gpu_uuid,used_memory", format},
                    deadline)),
      pid, gpus);
  return gpus;
}

std::string gpu_text(const Gpu& gpu) {
  return fmt::format(
      "{} {} · {}{} of {} MiB used{}", gpu.index, gpu.name,
      gpu.busy_percent ? fmt::format("{} % busy · ", *gpu.busy_percent) : "",
      gpu.used_mib, gpu.memory_mib,
      gpu.process_mib
          ? fmt::format(", {} of it by this process", *gpu.process_mib)
          : "");
}

std::vector<Gpu> parse_gpus(std::string_view text) {
  std::vector<Gpu> gpus;
  for (const std::string_view line : split(text, '\n')) {
    const auto words = cells(line);
    const auto index =
        words.size() < 6 ? std::nullopt : parse_number<int>(words[0]);
    if (index) {
      gpus.push_back(
          {.index = *index,
           .uuid = std::string(words[1]),
           .name = std::string(words[2]),
           .busy_percent = parse_number<int>(words[3]),  // or "[N/A]"
           .used_mib = parse_number<std::uint64_t>(words[4]).value_or(0),
           .memory_mib = parse_number<std::uint64_t>(words[5]).value_or(0)});
    }
  }
  std::ranges::sort(gpus, {}, &Gpu::index);
  return gpus;
}

void take_process_memory(std::string_view text,
                         int pid,
                         std::vector<Gpu>& gpus) {
  for (const std::string_view line : split(text, '\n')) {
    const auto words = cells(line);
    if (words.size() < 3 || parse_number<int>(words[0]) != pid) {
      continue;
    }
    const auto gpu = std::ranges::find(gpus, words[1], &Gpu::uuid);
    if (gpu != gpus.end()) {
      gpu->process_mib = gpu->process_mib.value_or(0) +
                         parse_number<std::uint64_t>(words[2]).value_or(0);
    }
  }
}

}  // namespace hangdbg
