// One process of a recording: its threads, and what each does right now.
//
// A thread that runs is stopped for the few microseconds in which the words of
// its frames are copied. One that is blocked is read as it is, and only when
// its counters have moved since the last time.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "inspector/cpython/runtime/frame_chain.h"
#include "inspector/cpython/runtime/gil.h"
#include "inspector/cpython/runtime/python_process.h"
#include "inspector/cpython/stacks/python_stack.h"
#include "profiler/profile/profile.h"
#include "profiler/sampling/native_stacks.h"
#include "profiler/sampling/schedule.h"
#include "profiler/sampling/task_stacks.h"
#include "profiler/sampling/wait_reasons.h"
#include "tracee/proc/kept_task.h"

namespace hangdbg {

struct SamplingOptions {
  bool idle = false;             // blocked threads, too
  bool gil = false;              // only the GIL's holder
  bool threads = false;          // by thread
  bool processes = false;        // by process
  bool whole_functions = false;  // without lines
  bool tallies = false;          // of each thread: Profile::tally
  bool native = false;           // with C functions
  bool tasks = false;            // asyncio's, in place of its loop
  // Where reasons of waits are asked for and told; null: they are not recorded.
  std::shared_ptr<WaitReasons> waits = {};
};

// Where a sample goes: the profile, guarded; when it is due, and how many that
// were due before it have been missed.
struct SampleSink {
  Profile& profile;
  std::mutex& mutex;
  std::uint64_t at = 0;
  std::uint64_t weight = 1;
  Schedule::Clock::time_point due = {};
  Schedule::Clock::duration period = {};
  std::uint64_t missed = 0;
  std::uint64_t usual_weight = 1;  // of each that was missed
};

class SampledProcess {
 public:
  SampledProcess(PythonProcess process,
                 std::string label,
                 const SamplingOptions& options);

  int pid() const { return process_.pid; }
  const std::string& label() const { return label_; }

  struct Outcome {
    std::uint64_t due = 0;
    std::uint64_t kept = 0;
    std::uint64_t covered = 0;  // of those missed before: known after all
    std::chrono::nanoseconds stopped{};
    bool stuck = false;  // a thread did not stop: the tracer has to end
  };
  // What all threads do now. On a tracer thread. Errors: NoSuchProcess, or what
  // else says that it is not the program any more that it was.
  Result<Outcome> sample(const SampleSink& sink);
  // Adds what has waited to be added.
  void finish(const SampleSink& sink);

 private:
  // A task of a loop that sleeps: where its samples go.
  struct TaskRow {
    std::uint32_t index;  // in the profile
    std::uint32_t node;
  };
  struct Thread {
    PythonThread python;
    KeptTask task;
    std::uint32_t index;                    // in the profile
    std::string name = {};                  // where it is asked for
    std::optional<SchedStats> asleep = {};  // since it is, with this stack
    std::optional<FrameChain> chain = {};   // the last one
    std::uint32_t node = Profile::kRoot;    // of it; the root: no Python
    std::uint32_t where = Profile::kRoot;   // that, or why it waits, below that
    bool has_gil = false;                   // asleep with it
    bool counts = false;                    // so it is in the profile
    // Samples that became due while it had no CPU to stop on, the last time.
    std::uint64_t waited = 0;
    std::uint64_t cpu_ns = 0;
    // Of its sleep, where reasons are recorded:
    std::string reason = {};         // "": none is
    bool reason_told = false;        // not by its system call alone
    std::uint64_t slept_from = 0;    // the first sample of it
    std::uint64_t slept_weight = 0;  // of all of them
    // Of its stack, where C functions are asked for:
    std::optional<std::size_t> unnamed = {};  // NativeStacks::take
    // Where tasks are:
    TaskPart part = {};
    bool tasks_seen = false;                       // of its sleep
    std::vector<TaskRow> waiting = {};             // they take its place
    std::map<Address, std::uint32_t> row_of = {};  // of each task
    std::vector<std::uint32_t> rows = {};          // all it has had
  };
  struct Words {
    FrameChain chain;
    bool has_gil = false;
    TaskPart part = {};
  };
  enum class Read { Blocked, Stopped, Gone, Missed, Stuck };

  Status list_threads(const SampleSink& sink);
  Result<std::vector<Address>> newest_threads() const;
  bool awaits_number();
  void name_threads(const SampleSink& sink);
  Read read(Thread& thread, const SampleSink& sink, Outcome& outcome);
  void cover(Thread& thread,
             const SchedStats& runs,
             const SampleSink& sink,
             Outcome& outcome);
  Read read_stopped(Thread& thread, const SampleSink& sink, Outcome& outcome);
  void wait_as_long_as_others(Schedule::Clock::time_point begun);
  Result<Words> words(const Thread& thread, const FrameChain* expected) const;
  // While there is time: what is not known of tasks is read first.
  Result<Words> words_before(const Thread& thread);
  Status keep(Thread& thread, Words words, const SampleSink& sink);
  // Why the thread sleeps, as far as it can be told while it is known to.
  std::string reason_now(const Thread& thread, const TaskSyscall& call) const;
  void begin_sleep(Thread& thread,
                   std::string reason,
                   const SampleSink& sink) const;
  void take_reason(Thread& thread, const SampleSink& sink);
  void add(Thread& thread,
           std::uint64_t at,
           std::uint64_t weight,
           const SampleSink& sink);
  void count(const Thread& thread, Read how, const SampleSink& sink) const;
  std::uint32_t root_of(std::uint32_t thread, Profile& profile) const;
  std::uint32_t node_of(const Thread& thread,
                        const PythonStack& stack,
                        Profile& profile) const;
  std::uint32_t task_root(std::uint32_t thread,
                          const std::string& task,
                          Profile& profile) const;
  std::optional<NativeStacks::Outside> outside_of(const Thread& thread) const;
  std::vector<PythonThread> python_threads_now() const;
  void see_waiting_tasks(Thread& thread, const SampleSink& sink);
  void give_rows(Thread& thread,
                 const std::vector<LogicalStack>& waiting,
                 Profile& profile) const;
  void name_native(const SampleSink& sink);

  PythonProcess process_;
  std::string label_;
  SamplingOptions options_;
  PythonStackReader stacks_;
  std::optional<NativeStacks> native_;
  std::optional<TaskStacks> tasks_;
  std::vector<Thread> threads_;
  std::vector<Address> newest_;  // as the list of threads began
  bool stale_ = true;
  bool has_nameless_ = false;  // a state of a thread that is not known
  int nameless_looks_ = 0;
  Schedule::Clock::duration longest_look_{};  // before a stop, of late
};

}  // namespace hangdbg
