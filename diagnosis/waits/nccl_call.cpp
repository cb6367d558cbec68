#include "diagnosis/waits/nccl_call.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "base/text.h"

namespace hangdbg {
namespace {

bool begins_with_any(std::string_view function,
                     std::span<const std::string_view> names) {
  return std::ranges::any_of(names, [function](std::string_view name) {
    return function.starts_with(name);
  });
}

// nccl.h. "pncclCommInitRank" is the same function under its other name.
std::string_view name_of(const StackEntry& entry) {
  std::string_view function = entry.native.function;
  function.remove_prefix(function.starts_with("pnccl") ? 1 : 0);
  return function;
}

constexpr std::array<std::string_view, 4> kBegin = {
    "ncclCommInit", "ncclCommSplit", "ncclCommShrink", "ncclCommGrow"};
constexpr std::array<std::string_view, 4> kOthers = {
    "ncclCommFinalize", "ncclCommDestroy", "ncclCommAbort", "ncclGroupEnd"};

}  // namespace

std::optional<NcclCall> nccl_call(const ProcessSnapshot& of,
                                  const ThreadSnapshot& thread) {
  const PythonProcess* const whole = of.whole();
  if (whole == nullptr ||
      std::ranges::none_of(whole->modules, [](const Module& module) {
        return base_name(module.path).starts_with("libnccl");
      })) {
    return std::nullopt;
  }
  const auto calls = of.native_calls(thread);
  const auto call =
      std::find_if(calls.rbegin(), calls.rend(), [](const StackEntry& one) {
        return begins_with_any(name_of(one), kBegin) ||
               begins_with_any(name_of(one), kOthers);
      });
  if (call == calls.rend()) {
    return std::nullopt;
  }
  return NcclCall{std::string(name_of(*call)),
                  begins_with_any(name_of(*call), kBegin), *call};
}

}  // namespace hangdbg
