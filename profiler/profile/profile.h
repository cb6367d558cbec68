// A profile: all stacks that were seen, as one tree, each with its weight.
//
// The unit of a weight is one sample at the requested rate. A sample at half
// that rate weighs two.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "inspector/cpython/stacks/python_stack.h"

namespace hangdbg {

// What a node of the tree represents.
struct ProfilePlace {
  enum class Kind { Frame, Process, Thread, Wait };
  Kind kind = Kind::Frame;
  // Qualified from 3.11 on; or the label of a process; or why the thread does
  // not run: "waits for the Lock `lock`, ..."
  std::string function;
  std::string file;
  int first_line = 0;  // of the function
  int line = 0;        // 0: all of the function

  auto key() const { return std::tie(kind, function, file, first_line, line); }
  bool operator<(const ProfilePlace& other) const {
    return key() < other.key();
  }
  bool operator==(const ProfilePlace& other) const = default;
};

// `whole_function`: without its line.
ProfilePlace python_place(const PythonFrame& frame, bool whole_function);

struct ProfileNode {
  std::uint32_t parent = 0;
  std::uint32_t place = 0;  // index into places
  std::uint64_t own = 0;    // of the stacks that end here
};

struct ProfiledThread {
  int pid = 0;
  int tid = 0;
  std::string process;  // "python train.py"
  std::string name;     // "" if it has none of its own
  int task = 0;  // which of its asyncio tasks that wait; 0: the thread itself
};

// "thread 42 (loader)", as stacks are grouped by it.
std::string thread_label(const ProfiledThread& thread);

// What became of one thread's samples, and where it was at the last one.
struct ThreadTally {
  std::uint64_t samples = 0;
  std::uint64_t ran = 0;       // of those: it ran, or waited for a CPU
  std::uint64_t held_gil = 0;  // of those: it held the GIL
  std::uint64_t cpu_ns = 0;    // that it has used since it was started
  std::uint32_t node = 0;
  bool runs = false;  // at the last one
  bool ended = false;
};

// One thread in one stack, in samples that follow each other.
struct ProfileRun {
  std::uint32_t thread = 0;  // index into threads
  std::uint32_t node = 0;
  std::uint64_t first = 0;  // when: in units since the recording began
  std::uint64_t length = 0;
};

class Profile {
 public:
  static constexpr std::uint32_t kRoot = 0;

  // Whether the order of samples is kept, too, and of which processes they are.
  explicit Profile(bool runs = false, bool processes = false)
      : keeps_runs_(runs), keeps_processes_(processes) {}

  // Of a place below a node; made where there is none yet.
  std::uint32_t child(std::uint32_t parent, const ProfilePlace& place);
  // Innermost first, as they are read. `whole_functions`: without lines.
  std::uint32_t stack(std::uint32_t root,
                      std::span<const PythonFrame> frames,
                      bool whole_functions);
  // Outermost first.
  std::uint32_t stack(std::uint32_t root,
                      const std::vector<ProfilePlace>& places);
  std::uint32_t add_thread(ProfiledThread thread);
  void name_thread(std::uint32_t thread, const std::string& name);
  void add(std::uint32_t thread,
           std::uint32_t node,
           std::uint64_t at,
           std::uint64_t weight);
  // It is known by now why the thread did not run: its last samples, since that
  // moment and with that weight, are of a node below the one they were added
  // to.
  void move(std::uint32_t thread,
            std::uint32_t from,
            std::uint32_t to,
            std::uint64_t since,
            std::uint64_t weight);
  // Of a thread, if requested (SamplingOptions::tallies).
  ThreadTally& tally(std::uint32_t thread) { return tallies_[thread]; }

  const std::vector<ProfilePlace>& places() const { return places_; }
  const std::vector<ProfileNode>& nodes() const { return nodes_; }
  const std::vector<ProfiledThread>& threads() const { return threads_; }
  const std::vector<ThreadTally>& tallies() const { return tallies_; }
  // By their beginnings, of each thread; not all if there were too many.
  const std::vector<ProfileRun>& runs() const { return runs_; }
  bool has_all_runs() const { return dropped_ == 0; }
  std::uint64_t weight() const { return weight_; }

  // Outermost first, without the root.
  std::vector<std::uint32_t> path(std::uint32_t node) const;
  // Of each node, with all below it.
  std::vector<std::uint64_t> totals() const;
  std::vector<std::vector<std::uint32_t>> children() const;
  // Of each node, the processes that have samples in it or below it; empty
  // where that is not kept.
  std::vector<std::set<int>> processes() const;

 private:
  std::uint64_t& of_process(std::uint32_t thread, std::uint32_t node);
  std::uint32_t place(const ProfilePlace& place);

  bool keeps_runs_;
  bool keeps_processes_;
  std::map<ProfilePlace, std::uint32_t> place_ids_;
  std::vector<ProfilePlace> places_ = {ProfilePlace{}};  // the root's
  std::unordered_map<std::uint64_t, std::uint32_t> node_ids_;
  std::vector<ProfileNode> nodes_ = {ProfileNode{}};
  std::vector<ProfiledThread> threads_;
  std::vector<ThreadTally> tallies_;  // of each
  std::unordered_map<std::uint64_t, std::uint64_t> by_process_;
  std::vector<ProfileRun> runs_;
  std::vector<std::size_t> last_run_;  // of each thread; kNone: none yet
  std::uint64_t dropped_ = 0;
  std::uint64_t weight_ = 0;
};

// By function, its own time, in which it may have waited, and that with what it
// calls; a recursion counts once. Most own time first.
struct FunctionTime {
  ProfilePlace place;  // its line is 0
  std::uint64_t own = 0;
  std::uint64_t total = 0;
};
std::vector<FunctionTime> function_times(const Profile& profile);

// Why threads did not run, the longest first.
struct WaitTime {
  std::string reason;
  std::uint64_t samples = 0;
};
std::vector<WaitTime> wait_times(const Profile& profile);

}  // namespace hangdbg
