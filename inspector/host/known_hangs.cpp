#include "inspector/host/known_hangs.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace hangdbg {
namespace {

// From a version on, and before another; "" is no bound. Under a variable's
// value, or with another library, where these are named.
struct KnownHang {
  std::string_view family, from, before;
  std::string_view variable, value;
  std::string_view with, with_from, with_before;
  std::string_view what, mend, source;
};

constexpr std::array kKnown = {
    KnownHang{.family = "NCCL",
              .from = "2.13",
              .before = "2.17",
              .variable = "CUDA_LAUNCH_BLOCKING",
              .value = "1",
              .what = "hangs under CUDA_LAUNCH_BLOCKING=1",
              .mend = "unset it, or take NCCL 2.17 or later",
              .source = "NVIDIA/nccl#750, pytorch/pytorch#97843"},
    KnownHang{.family = "NCCL",
              .from = "2.26",
              .before = "2.27",
              .with = "torch",
              .with_from = "2.7.0",
              .with_before = "2.7.1",
              .what = "hangs at random in torch 2.7.0's non-blocking mode",
              .mend = "set TORCH_NCCL_USE_COMM_NONBLOCKING=0, or take torch "
                      "2.7.1",
              .source = "pytorch/pytorch#153960, #154055"},
    KnownHang{.family = "NCCL",
              .from = "2.29.7",
              .before = "2.30.7",
              .what = "may hang over InfiniBand between machines",
              .mend = "set NCCL_PXN_DISABLE=1, or take NCCL 2.30.7",
              .source = "known issues in the documentation of NVIDIA cuEST"},
};

const Library* find_library(const std::vector<Library>& libraries,
                            std::string_view family,
                            std::string_view from,
                            std::string_view before) {
  const auto found =
      std::ranges::find_if(libraries, [&](const Library& library) {
        return library.family == family && library.version &&
               !comes_before(*library.version, from) &&
               (before.empty() || comes_before(*library.version, before));
      });
  return found == libraries.end() ? nullptr : &*found;
}

}  // namespace

std::vector<std::string> known_hangs(
    const std::vector<Library>& libraries,
    const std::vector<EnvironmentVariable>& variables) {
  std::vector<std::string> found;
  for (const KnownHang& one : kKnown) {
    const Library* const library =
        find_library(libraries, one.family, one.from, one.before);
    if (library == nullptr ||
        (!one.variable.empty() &&
         value_of(variables, one.variable) != one.value) ||
        (!one.with.empty() && find_library(libraries, one.with, one.with_from,
                                           one.with_before) == nullptr)) {
      continue;
    }
    found.push_back(fmt::format("{} {} {} ({}): {}", library->name,
                                *library->version, one.what, one.source,
                                one.mend));
  }
  return found;
}

// Number by number, up to what is none.
bool comes_before(std::string_view version, std::string_view other) {
  const auto numbers = [](std::string_view text) {
    std::vector<int> parts;
    for (const std::string_view part :
         split(text.substr(0, text.find_first_not_of("0123456789.")), '.')) {
      parts.push_back(parse_number<int>(part).value_or(0));
    }
    return parts;
  };
  return numbers(version) < numbers(other);
}

}  // namespace hangdbg
