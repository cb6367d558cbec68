#include "inspector/host/variables.h"

#include <algorithm>
#include <array>
#include <ranges>

#include "base/secrets.h"
#include "tracee/program/environment_entries.h"

namespace hangdbg {
namespace {

constexpr std::array<std::string_view, 35> kBeginnings = {
    "OMP_",     "KMP_",   "GOMP_",    "MKL_",          "OPENBLAS_", "BLIS_",
    "NUMEXPR_", "CUDA_",  "NVIDIA_",  "HIP_",          "ROCR_",     "HSA_",
    "NCCL_",    "RCCL_",  "TORCH_",   "TORCHELASTIC_", "PYTORCH_",  "GLOO_",
    "TP_",      "UCX_",   "OMPI_",    "PMI",           "FI_",       "IBV_",
    "MASTER_",  "PYTHON", "LD_",      "SLURM_",        "TF_",       "XLA_",
    "JAX_",     "RAY_",   "HOROVOD_", "DEEPSPEED_",    "MALLOC_",
};
constexpr std::array<std::string_view, 13> kNames = {
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "GROUP_WORLD_SIZE",
    "ROLE_RANK",
    "ROLE_WORLD_SIZE",
    "TOKENIZERS_PARALLELISM",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "GRPC_ENABLE_FORK_SUPPORT",
    "PATH",
};

}  // namespace

Result<std::vector<EnvironmentVariable>> read_variables(int pid) {
  std::vector<EnvironmentVariable> found;
  for (const std::string_view entry : TRY(read_environment(pid))) {
    const auto name = entry.substr(0, entry.find('='));
    if (name.size() < entry.size() && matters(name)) {
      found.push_back({std::string(name),
                       masked_value(name, entry.substr(name.size() + 1))});
    }
  }
  // The first of a name is the one that getenv(3) finds.
  std::ranges::stable_sort(found, {}, &EnvironmentVariable::name);
  const auto twice = std::ranges::unique(found, {}, &EnvironmentVariable::name);
  found.erase(twice.begin(), twice.end());
  return found;
}

bool matters(std::string_view name) {
  return std::ranges::find(kNames, name) != kNames.end() ||
         std::ranges::any_of(kBeginnings, [name](std::string_view beginning) {
           return name.starts_with(beginning);
         });
}

std::optional<std::string_view> value_of(
    const std::vector<EnvironmentVariable>& variables,
    std::string_view name) {
  const auto found =
      std::ranges::find(variables, name, &EnvironmentVariable::name);
  return found == variables.end()
             ? std::nullopt
             : std::optional<std::string_view>(found->value);
}

}  // namespace hangdbg
