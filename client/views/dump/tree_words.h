// How what is in a tree of stacks is said: its members, places and findings, in
// text, in JSON and in a picture alike.
#pragma once

#include <map>
#include <string>

#include "inspector/jobs/stack_tree.h"

namespace hangdbg {

// How its members are spoken of.
struct TreeLabels {
  enum class Members { Ranks, Processes };
  Members members;
  // Of ranks, if they are of several machines.
  std::map<int, std::string> hosts = {};
  // Of processes, where their numbers alone do not name them.
  std::map<int, std::string> names = {};
  std::map<int, int> pids = {};
};

bool are_ranks(const TreeLabels& labels);

// "all_reduce (torch/distributed/distributed_c10d.py:3252)"; `full`: its path
// as in Python.
std::string text_of(const StackPlace& place, bool full);

RankSet set_of(int member);

// "rank 7", "ranks 0-6 on node1", "process 101".
std::string name_of(const RankSet& set, const TreeLabels& labels);

// "[0-6] 7 ranks"; "2 of 8 processes: 101, 102", "all 8 processes".
std::string who_text(const StackNode& node,
                     const StackTree& tree,
                     const TreeLabels& labels);

// Why these are odd: where they are, `between`, where most are.
std::string why(const StackTree& tree,
                const Outliers& odd,
                const TreeLabels& labels,
                bool full,
                const char* between);

std::string why(const StoppedMember& one);

}  // namespace hangdbg
