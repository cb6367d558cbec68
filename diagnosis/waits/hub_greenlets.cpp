#include "diagnosis/waits/hub_greenlets.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "diagnosis/waits/task_waits.h"
#include "inspector/cpython/async/known_greenlets.h"
#include "inspector/cpython/objects/items.h"

namespace hangdbg {
namespace {

constexpr std::uint64_t kMostHubReads = 200'000;
constexpr std::size_t kMostJoined = 200;
constexpr std::size_t kDepthOfHub = 4;

// The function in which a hub waits, and its own greenlet there.
struct Hub {
  std::string_view library, file, greenlet;
};
constexpr Hub kHubs[] = {
    {"gevent", "/gevent/hub.py", "self"},
    {"eventlet", "/eventlet/hubs/hub.py", "self.greenlet"},
};

bool switches_to_hub(const PythonFrame& frame) {
  return frame.function == "switch" &&
         frame.file.ends_with("/eventlet/hubs/hub.py");
}

// "workers" and "gevent" of `gevent.joinall(workers)`, "one" of `one.join()`.
std::vector<std::string> names_in(const CallText& call) {
  std::vector<std::string> names = call.arguments;
  const auto dot = call.callee.rfind('.');
  if (dot != std::string::npos) {
    names.push_back(call.callee.substr(0, dot));
  }
  return names;
}

bool joins(const CallText& call) {
  constexpr std::string_view kJoins[] = {"join", "joinall", "get", "wait"};
  const std::string_view callee = call.callee;
  return std::ranges::find(kJoins, callee.substr(callee.rfind('.') + 1)) !=
         std::end(kJoins);
}

struct HubReader {
  const ProcessSnapshot& of;
  PythonStackReader stacks;
  std::set<Address> met = {};
  std::vector<AsyncioTask> read = {};

  bool add(Address greenlet, std::string name);
  std::vector<Address> joined_by(const AsyncioTask& task);
  void follow();
};

// What is no greenlet, or is not suspended, has no such stack.
bool HubReader::add(Address greenlet, std::string name) {
  if (!met.insert(greenlet).second) {
    return true;
  }
  auto stack = stack_of_greenlet(of.objects(), stacks, greenlet);
  if (!stack || read.size() >= kMostJoined) {
    return false;
  }
  AsyncioTask task{
      .address = greenlet, .name = std::move(name), .state = "waits"};
  task.stack = *std::move(stack);
  auto& frames = task.stack.frames;
  frames.erase(frames.begin(),
               std::ranges::find_if_not(frames, switches_to_hub));
  if (task.name.empty() && !frames.empty()) {
    task.name = frames.back().qualname;
  }
  read.push_back(std::move(task));
  return true;
}

// Of the variables in the call that its function is in.
std::vector<Address> HubReader::joined_by(const AsyncioTask& task) {
  const PythonFrame* const own = own_frame(task);
  const auto loops = own != nullptr ? of.loops(*own) : std::nullopt;
  std::vector<Address> joined;
  if (!loops || !joins(loops->call)) {
    return joined;
  }
  for (const std::string& name : names_in(loops->call)) {
    const auto object = of.object(*own, name);
    const auto type =
        object ? of.objects().type_of(*object) : std::unexpected(Error());
    if (!type) {
      continue;
    }
    if (!has_items((*type)->kind)) {
      joined.push_back(*object);
      continue;
    }
    const auto items =
        read_items(of.objects(), *object, (*type)->kind, 0, kMostJoined);
    if (items) {
      joined.insert(joined.end(), items->items.begin(), items->items.end());
    }
  }
  return joined;
}

void HubReader::follow() {
  for (std::size_t i = 0; i < read.size(); ++i) {
    for (const Address one : joined_by(read[i])) {
      of.objects().allow_reads(kMostHubReads);
      if (one && add(one, "")) {
        read[i].waits_for.push_back(one);
      }
    }
  }
}

}  // namespace

std::optional<HubGreenlets> hub_greenlets(const ProcessSnapshot& of,
                                          const ThreadSnapshot& thread) {
  if (!of.is_python() || thread.wait.state != 'S') {
    return std::nullopt;
  }
  for (const Hub& one : kHubs) {
    const PythonFrame* const run = thread.find("run", one.file, kDepthOfHub);
    const auto hub =
        run != nullptr ? of.object(*run, one.greenlet) : std::nullopt;
    if (!hub) {
      continue;
    }
    of.objects().allow_reads(kMostHubReads);
    const auto main = main_greenlet_of(of.objects(), *hub);
    HubReader reader{of, {of.process().memory, of.process().python}};
    if (!main || !reader.add(*main, "main")) {
      return std::nullopt;
    }
    reader.follow();
    return HubGreenlets{one.library, std::move(reader.read)};
  }
  return std::nullopt;
}

}  // namespace hangdbg
