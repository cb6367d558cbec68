// The backward pass of torch. The engine has a thread for each device, which
// computes the gradients there; the thread that called backward() waits for
// these (torch/csrc/autograd/engine.cpp).
#include <fmt/core.h>

#include <algorithm>

#include "diagnosis/causes/causes.h"

namespace hangdbg::causes {
namespace {

constexpr std::string_view kEngine = "torch::autograd::Engine::";

bool is_in(const ProcessSnapshot& of,
           const ThreadSnapshot& thread,
           std::string_view function) {
  return std::ranges::any_of(
      of.native_calls(thread), [function](const StackEntry& one) {
        const std::string_view name = one.native.function;
        return name.starts_with(kEngine) &&
               name.substr(kEngine.size()).starts_with(function);
      });
}

bool is_of_engine(const ThreadSnapshot& thread) {
  return thread.wait.name.starts_with("pt_autograd_");
}

// An idle engine thread waits in Engine::thread_main.
bool computes(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  return is_of_engine(thread) &&
         (!thread.frames().empty() || is_in(of, thread, "evaluate_function"));
}

}  // namespace

Found autograd(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  if (!thread.python || !thread.sleeps_in("futex") ||
      std::ranges::none_of(of.threads, is_of_engine) ||
      !is_in(of, thread, "execute")) {
    return std::nullopt;
  }
  Cause cause{.id = CauseId::Backward, .evidence = {thread.place()}};
  std::string threads;
  for (const ThreadSnapshot& other : of.threads) {
    if (computes(of, other)) {
      cause.blocked_by.push_back(other.id);
      threads += (threads.empty() ? "" : ", ") + other.who();
    }
  }
  if (cause.blocked_by.empty()) {
    return std::nullopt;
  }
  cause.summary = fmt::format("waits for its backward pass, in {}", threads);
  return cause;
}

}  // namespace hangdbg::causes
