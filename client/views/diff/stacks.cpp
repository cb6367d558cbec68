#include "client/views/diff/stacks.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <utility>

#include "client/terminal/render.h"
#include "client/views/diff/facts.h"

namespace hangdbg {
namespace {

constexpr std::size_t kBeginning = 3;  // frames that tell a thread's role

struct Known {
  std::string title;
  const reports::DumpedThread* thread;
};
using Threads = std::multimap<std::string, Known>;  // by their role

Threads by_role(const reports::DumpedProcess& process);
std::string role_of(const reports::DumpedThread& thread);
std::vector<const reports::DumpedFrame*> python_frames(
    const reports::DumpedThread& thread);
bool at_same_place(const reports::DumpedFrame& a,
                   const reports::DumpedFrame& b);
std::optional<StackDifference> part(const Known& a, const Known& b);
std::vector<reports::DumpedFrame> inside_of(const reports::DumpedThread& thread,
                                            const reports::DumpedFrame* common);

}  // namespace

std::vector<StackDifference> compare_stacks(const reports::DumpedProcess& a,
                                            const reports::DumpedProcess& b) {
  std::vector<StackDifference> found;
  Threads others = by_role(b);
  for (const auto& [role, thread] : by_role(a)) {
    const auto other = others.find(role);
    if (other == others.end()) {
      found.push_back({.thread = thread.title, .a = thread.thread->frames});
      continue;
    }
    if (auto difference = part(thread, other->second)) {
      found.push_back(*std::move(difference));
    }
    others.erase(other);
  }
  for (const auto& [role, thread] : others) {
    found.push_back({.thread = thread.title, .b = thread.thread->frames});
  }
  return found;
}

namespace {

// Main's is the first of all.
Threads by_role(const reports::DumpedProcess& process) {
  Threads threads;
  for (const reports::DumpedThread& thread : process.threads) {
    const std::string name = thread.name.value_or("");
    if (thread.tid == process.pid) {
      threads.emplace("", Known{"main thread", &thread});
    } else if (!thread.frames.empty()) {
      threads.emplace(
          role_of(thread),
          Known{name.empty() ? "a thread" : "thread " + name, &thread});
    }
  }
  return threads;
}

// Its name, but for the number that a pool gives; or how it begins.
std::string role_of(const reports::DumpedThread& thread) {
  if (thread.name && !thread.name->empty()) {
    return "name " + without_numbers(*thread.name);
  }
  std::string role = "role";
  std::size_t count = 0;
  for (auto frame = thread.frames.rbegin();
       frame != thread.frames.rend() && count < kBeginning; ++frame, ++count) {
    role += " " + frame->qualname;
  }
  return role;
}

// Outermost first; where there are none, the native ones.
std::vector<const reports::DumpedFrame*> python_frames(
    const reports::DumpedThread& thread) {
  std::vector<const reports::DumpedFrame*> python, native;
  for (const reports::DumpedFrame& frame :
       thread.frames | std::views::reverse) {
    (frame.module ? native : python).push_back(&frame);
  }
  return python.empty() ? native : python;
}

// In a library the line tells of its version alone.
bool at_same_place(const reports::DumpedFrame& a,
                   const reports::DumpedFrame& b) {
  return a.qualname == b.qualname && short_path(a.file) == short_path(b.file) &&
         (a.line == b.line || a.module || is_library_path(a.file));
}

std::optional<StackDifference> part(const Known& a, const Known& b) {
  const auto left = python_frames(*a.thread);
  const auto right = python_frames(*b.thread);
  const auto [one, other] = std::ranges::mismatch(
      left, right,
      [](const auto* x, const auto* y) { return at_same_place(*x, *y); });
  if (one == left.end() && other == right.end()) {
    return std::nullopt;
  }
  StackDifference found{.thread = a.title};
  const reports::DumpedFrame* const last_a =
      one == left.begin() ? nullptr : one[-1];
  const reports::DumpedFrame* const last_b =
      other == right.begin() ? nullptr : other[-1];
  if (last_a != nullptr) {
    found.common = *last_a;
  }
  found.a = inside_of(*a.thread, last_a);
  found.b = inside_of(*b.thread, last_b);
  return found;
}

// With the native ones; all, if nothing is common.
std::vector<reports::DumpedFrame> inside_of(
    const reports::DumpedThread& thread,
    const reports::DumpedFrame* common) {
  const auto begin = thread.frames.begin();
  return {begin,
          common == nullptr ? thread.frames.end() : begin + (common - &*begin)};
}

}  // namespace
}  // namespace hangdbg
