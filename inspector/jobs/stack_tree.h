// Many stacks as one tree: where all agree there is one branch, and outliers
// stand out (the idea is STAT's: stack traces of a parallel program as a prefix
// tree with sets of processes).
//
// Linear in the number of frames: a hundred thousand ranks take part of a
// second.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "inspector/ranks/rank_set.h"
#include "inspector/snapshot/process_dump.h"

namespace hangdbg {

struct StackPlace {
  std::string function;  // qualified; with its module, if it is a C function
  std::string file;      // "" for a C function
  int line = 0;

  auto operator<=>(const StackPlace&) const = default;
};

struct StackNode {
  StackPlace place;  // of no function at the root
  RankSet members;   // whose threads are in it: ranks of a job, or PIDs
  std::int64_t threads = 0;
  std::vector<StackNode> children = {};  // what was called: most members first
};

// Those whose main threads are at one place, by one way.
struct StackClass {
  RankSet members;
  std::string state;            // of the first: "asleep in futex for 3 min"
  std::vector<StackPlace> way;  // outermost first
};

// A class that is at another place than most. Its way and theirs begin with the
// same `fork` places, and part behind them; one may end there.
struct Outliers {
  StackClass here;
  std::size_t fork = 0;
};

// By a signal, until SIGCONT: what others may wait for.
struct StoppedMember {
  int member = 0;
  int pid = 0;
  std::string state;
  bool child = false;                // of that rank
  std::vector<StackPlace> way = {};  // outermost first
};

struct StackTree {
  StackNode root;                   // of no place; all threads are its own
  std::vector<StackClass> classes;  // the largest first
  std::vector<Outliers> odd;  // than the first class, if that is more than half
  std::vector<StoppedMember> stopped;
};

// What is known of a thread besides its stack.
struct StackOwner {
  int member = 0;
  int pid = 0;
  bool child = false;  // of a rank: it has the rank's number
  bool main = false;   // the main thread of its process
  std::string_view state;
  double waiting_s = 0;
};

class StackMerger {
 public:
  enum class Place : int {};

  // A place by its number, the same one for the same place.
  Place place(StackPlace place);

  // A main thread says where its member is; a child's does not.
  void add_thread(const StackOwner& owner, std::span<const Place> way);

  // ---- of what that is made

  // `way`: outermost first. Members in ascending order are added fastest.
  // Returns the node in which it ends.
  int add(int member, std::span<const Place> way);

  // That way is the one of the member's main thread. `moves`: it runs or comes
  // back to that line all the time, and may be at another of the same function.
  void add_main(int member, int node, std::string_view state, bool moves);

  StackTree finish();

 private:
  struct Node {
    int parent;
    Place place;
    RankSet members;
    std::int64_t threads = 0;
  };
  struct Main {
    RankSet members;
    std::string state;
    int node;
  };
  // Those that are at one function by one way: at rest at their lines, or not.
  struct Mains {
    std::map<int, Main> at_rest;  // by node
    std::optional<Main> moving;
  };

  int add_whole(int member, std::span<const Place> way);
  int child(int node, Place place);
  std::vector<int> way_to(int node) const;
  StackClass class_of(const Main& main) const;
  std::vector<StackPlace> places_to(int node) const;
  void find_classes(StackTree& tree) const;

  std::map<StackPlace, Place> numbers_;
  std::vector<const StackPlace*> places_;
  std::vector<Node> nodes_ = {{-1, Place{-1}, {}, 0}};  // the root
  std::unordered_map<std::uint64_t, int> children_;     // by node and place
  std::vector<int> last_way_;  // the nodes of the last stack, outermost first
  std::vector<Place> last_places_;
  std::map<std::tuple<int, std::string, std::string>, Mains> mains_;
  std::vector<StoppedMember> stopped_;
};

// The number of a process in a tree.
using MemberOf = int (*)(const ProcessDump&);

StackTree merge_dumps(const std::vector<ProcessDump>& dumps, MemberOf member);

}  // namespace hangdbg
