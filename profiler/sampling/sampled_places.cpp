// Of SampledProcess: where a stack goes in the profile.
#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "profiler/sampling/sampled_process.h"

namespace hangdbg {

std::uint32_t SampledProcess::root_of(std::uint32_t thread,
                                      Profile& profile) const {
  using Kind = ProfilePlace::Kind;
  std::uint32_t root = Profile::kRoot;
  if (options_.processes) {
    root = profile.child(root, {.kind = Kind::Process, .function = label_});
  }
  if (options_.threads) {
    const ProfiledThread& known = profile.threads()[thread];
    root = profile.child(
        root, {.kind = Kind::Thread, .function = thread_label(known)});
  }
  return root;
}

std::uint32_t SampledProcess::task_root(std::uint32_t thread,
                                        const std::string& task,
                                        Profile& profile) const {
  const std::uint32_t root = root_of(thread, profile);
  return options_.threads
             ? profile.child(
                   root, {.kind = ProfilePlace::Kind::Thread,
                          .function = task.empty() ? "task" : "task " + task})
             : root;
}

// Of a task, what waits for it is outside of its own frames, and the loop that
// runs it is left out.
std::uint32_t SampledProcess::node_of(const Thread& thread,
                                      const PythonStack& stack,
                                      Profile& profile) const {
  if (stack.frames.empty()) {
    return Profile::kRoot;
  }
  const bool whole = options_.whole_functions;
  const auto root =
      std::ranges::find(stack.frames, thread.part.root, &PythonFrame::address);
  if (!thread.part.root || root == stack.frames.end()) {
    return profile.stack(root_of(thread.index, profile), stack.frames, whole);
  }
  const LogicalStack& above = tasks_->above(thread.part);
  const std::uint32_t waits = profile.stack(
      task_root(thread.index, above.name, profile), above.frames, whole);
  return profile.stack(waits, std::span(stack.frames.begin(), root + 1), whole);
}

std::optional<NativeStacks::Outside> SampledProcess::outside_of(
    const Thread& thread) const {
  if (!thread.part.root) {
    return std::nullopt;
  }
  const LogicalStack& above = tasks_->above(thread.part);
  return NativeStacks::Outside{thread.part.root, above.name, above.frames};
}

std::vector<PythonThread> SampledProcess::python_threads_now() const {
  std::vector<PythonThread> threads;
  for (const Thread& one : threads_) {
    threads.push_back(one.python);
  }
  return threads;
}

// Once in each sleep of a loop, as soon as there is time for it. Until then the
// loop's own stack is shown.
void SampledProcess::see_waiting_tasks(Thread& thread, const SampleSink& sink) {
  if (!tasks_ || !thread.counts || thread.tasks_seen || thread.part.root ||
      !thread.chain || !thread.asleep) {
    return;
  }
  const auto waiting =
      tasks_->waiting(*thread.chain, thread.python, python_threads_now());
  const auto after = thread.task.runs();
  if (!waiting || !after || *after != *thread.asleep) {
    return;
  }
  thread.tasks_seen = true;
  const std::lock_guard lock(sink.mutex);
  Profile& profile = sink.profile;
  give_rows(thread, *waiting, profile);
  for (const LogicalStack& one : *waiting) {
    thread.waiting.push_back(
        {thread.row_of.at(one.task),
         profile.stack(task_root(thread.index, one.name, profile), one.frames,
                       options_.whole_functions)});
  }
}

// Tasks come and go; there are as many rows as there were at once. A task that
// was there before keeps its own.
void SampledProcess::give_rows(Thread& thread,
                               const std::vector<LogicalStack>& waiting,
                               Profile& profile) const {
  std::map<Address, std::uint32_t> given;
  std::set<std::uint32_t> free(thread.rows.begin(), thread.rows.end());
  for (const LogicalStack& one : waiting) {
    if (const auto had = thread.row_of.find(one.task);
        had != thread.row_of.end()) {
      given.insert(*had);
      free.erase(had->second);
    }
  }
  for (const LogicalStack& one : waiting) {
    const auto [at, is_new] = given.try_emplace(one.task);
    if (!is_new) {
      continue;
    }
    if (free.empty()) {
      ProfiledThread row = profile.threads()[thread.index];
      row.task = static_cast<int>(thread.rows.size()) + 1;
      row.name = fmt::format("{} task {}", thread_label(row), row.task);
      thread.rows.push_back(profile.add_thread(std::move(row)));
      free.insert(thread.rows.back());
    }
    at->second = *free.begin();
    free.erase(free.begin());
  }
  thread.row_of = std::move(given);
}

void SampledProcess::name_native(const SampleSink& sink) {
  std::size_t number = 0;
  native_->name(options_.whole_functions, [&](const auto& one, auto places) {
    const std::lock_guard lock(sink.mutex);
    Profile& profile = sink.profile;
    const std::uint32_t outside =
        one.outside
            ? profile.stack(task_root(one.thread, one.outside->task, profile),
                            one.outside->frames, options_.whole_functions)
            : root_of(one.thread, profile);
    const std::uint32_t node = profile.stack(outside, places);
    const auto where = [&](const std::string& wait) {
      return wait.empty()
                 ? node
                 : profile.child(node, {.kind = ProfilePlace::Kind::Wait,
                                        .function = wait});
    };
    std::uint64_t weight = 0;
    for (const NativeStacks::Run& run : one.runs) {
      profile.add(one.thread, where(run.wait), run.first, run.length);
      weight += run.length;
    }
    const auto owner = std::ranges::find(threads_, one.thread, &Thread::index);
    if (owner != threads_.end() && owner->unnamed == number) {
      owner->node = node;
      owner->where = where(owner->reason);
      owner->slept_weight = weight;
      owner->unnamed.reset();
    }
    ++number;
  });
}

void SampledProcess::finish(const SampleSink& sink) {
  if (native_) {
    name_native(sink);
  }
}

}  // namespace hangdbg
