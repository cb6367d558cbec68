// A call of NCCL that all ranks of a communicator are to make: it looks again
// and again whether the others have come.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "inspector/diagnosis/call_watch.h"
#include "inspector/diagnosis/causes/causes.h"

namespace hangdbg::causes {
namespace {

// nccl.h. "pncclCommInitRank" is the same function under its other name.
std::string_view nccl_call(const NativeSymbol& symbol) {
  std::string_view function = symbol.function;
  function.remove_prefix(function.starts_with("pnccl") ? 1 : 0);
  return function.starts_with("ncclComm") || function == "ncclGroupEnd"
             ? function
             : std::string_view();
}

bool begins_communicator(std::string_view function) {
  constexpr std::array<std::string_view, 4> kBegin = {
      "ncclCommInit", "ncclCommSplit", "ncclCommShrink", "ncclCommGrow"};
  return std::ranges::any_of(kBegin, [function](std::string_view name) {
    return function.starts_with(name);
  });
}

}  // namespace

Found nccl_init(const Case& of, const CaseThread& thread) {
  const InspectedProcess* const whole = thread.python ? of.whole() : nullptr;
  if (whole == nullptr ||
      std::ranges::none_of(whole->modules, [](const Module& module) {
        return base_name(module.path).starts_with("libnccl");
      })) {
    return std::nullopt;
  }
  const auto calls = of.native_calls(thread);
  // The outermost: what the program has called.
  const auto call = std::find_if(
      calls.rbegin(), calls.rend(),
      [](const StackEntry& one) { return !nccl_call(one.native).empty(); });
  if (call == calls.rend()) {
    return std::nullopt;
  }
  const std::string function(nccl_call(call->native));
  const CallWatch watch = watch_call(of, thread, *call);
  Cause cause{.id = "nccl-init",
              .evidence = {watch.told, "called at " + thread.place()}};
  if (watch.came_back) {
    cause.standing = Standing::Works;
    cause.sentence = fmt::format("is in {}, and goes on", function);
    return cause;
  }
  cause.sentence = fmt::format(
      "waits in {} ({}) {}", function, printable(call->native.module),
      begins_communicator(function)
          ? "for the other ranks to come to their communicator"
          : "for NCCL, which does not come to an end");
  say_watched(watch, cause);
  cause.next.push_back(
      {"hangdbg diagnose --job auto", "all ranks at once, and who is odd"});
  cause.next.push_back(
      {fmt::format("hangdbg net {}", of.pid), "with whom it has connections"});
  return cause;
}

}  // namespace hangdbg::causes
