// The rows of `top`: functions, lines, threads and processes, with their
// numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/views/top/history.h"

namespace hangdbg {

enum class TopView { Functions, Lines, Threads, Processes, Tasks };

// Which part of the samples: those of a thread, a task or a process, of stacks
// with a function in them.
struct TopScope {
  std::optional<std::uint32_t> thread = {};  // index
  std::string process = {};                  // label; "": all
  std::optional<ProfilePlace> function = {};
  std::optional<std::uint32_t> task = {};  // TopTaskRow::node

  bool is_all() const {
    return !thread && !task && process.empty() && !function;
  }
};

// 100 % is one thread all the time.
struct TopPlaceRow {
  ProfilePlace place;
  double own = 0, total = 0;      // percent, in the last seconds
  double own_s = 0, total_s = 0;  // since the beginning
};

struct TopThreadRow {
  std::uint32_t thread = 0;  // index
  int pid = 0, tid = 0;
  std::string label, process;
  double cpu = 0, gil = 0, runs = 0;  // percent
  bool running = false;               // at the last sample
  std::string waits;                  // if it does not
  std::string where;                  // its innermost frame
};

// asyncio's, by name; of each thread apart.
struct TopTaskRow {
  std::uint32_t node = 0;                    // below which its stacks are
  std::string label;                         // its name, or "task"
  std::optional<std::uint32_t> thread = {};  // index: that runs its loop
  double share = 0;                          // percent, in the last seconds
  double share_s = 0;                        // since the beginning
  std::string where;                         // its innermost frame, the hottest
};

struct TopProcessRow {
  int pid = 0;
  std::string label;
  std::size_t threads = 0;
  double cpu = 0, gil = 0, runs = 0;  // of all its threads
  std::string hot;                    // the function with the most own time
};

// By function (their line is 0), or by line.
std::vector<TopPlaceRow> top_places(const TopData& data,
                                    const TopScope& scope,
                                    bool by_line);
// What calls the function of the scope, or what it calls, directly.
enum class TopSide { Callers, Callees };
std::vector<TopPlaceRow> top_neighbours(const TopData& data,
                                        const TopScope& scope,
                                        TopSide side);
// Those that there are, as they came.
std::vector<TopThreadRow> top_threads(const TopData& data,
                                      const std::string& process = "");
std::vector<TopProcessRow> top_processes(const TopData& data);
// Those that have samples; none where tasks are not recorded (tasks.cpp).
std::vector<TopTaskRow> top_tasks(const TopData& data);

// As narrow as can be: "wait (torch/utils/file_baton.py:42)", and of a file
// that is of no package its name alone.
std::string top_label(const ProfilePlace& place);

// Of a thread, at its last sample; innermost first.
std::vector<ProfilePlace> last_stack(const TopData& data, std::uint32_t thread);
// Of a task, the one with the most samples in the last seconds, or ever: with
// what waits for it.
std::vector<ProfilePlace> hottest_stack(const TopData& data,
                                        std::uint32_t task);

// ---- of the tree of a recording

// The frames of a stack that ends there.
std::vector<ProfilePlace> stack_at(const TopData& data, std::uint32_t node);
// What stands for a task: below the thread that runs its loop.
bool is_task(const TopData& data, std::uint32_t node);
// "" of what is no frame.
std::string place_label(const TopData& data, std::uint32_t node);

}  // namespace hangdbg
