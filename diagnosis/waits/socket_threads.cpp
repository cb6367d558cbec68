#include "diagnosis/waits/socket_threads.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <ranges>
#include <span>

#include "diagnosis/waits/awaited_files.h"
#include "inspector/cpython/objects/attributes.h"
#include "inspector/cpython/objects/sockets.h"
#include "inspector/cpython/stacks/python_locals.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostHolders = 16;
constexpr std::size_t kMostThreads = 32;     // inspected in one process
constexpr std::size_t kMostFrames = 60;      // of a thread
constexpr std::size_t kMostAttributes = 60;  // of one variable
constexpr std::uint64_t kReads = 20'000;     // of its memory, for a thread

struct Wanted {
  const SocketPeer& peer;
  std::vector<int> fds;  // of this process
};

bool is_wanted(const Wanted& wanted, const OpenFile& file) {
  return file.kind == FileKind::Socket &&
         std::ranges::find(wanted.peer.inodes, file.inode) !=
             wanted.peer.inodes.end();
}

// By the system call that it is asleep in.
std::optional<SocketUse> use_by_call(const ProcessSnapshot& of,
                                     const ThreadSnapshot& thread,
                                     const Wanted& wanted) {
  const AwaitedFiles awaited = awaited_files(of, thread);
  const bool waits = std::ranges::any_of(awaited.files, [&](const auto& one) {
    return is_wanted(wanted, one.file);
  });
  if (!waits) {
    return std::nullopt;
  }
  return !wanted.peer.accepted      ? SocketUse::Accepts
         : awaited.files.size() > 1 ? SocketUse::Watches
                                    : SocketUse::Reads;
}

// Compared by inode: the number may have been reused since.
bool has_wanted(const ProcessSnapshot& of, const Wanted& wanted, Address at) {
  const auto fd = socket_descriptor(of.objects(), at);
  if (!fd) {
    return false;
  }
  if (std::ranges::find(wanted.fds, *fd) != wanted.fds.end()) {
    return true;
  }
  const auto file = of.file(*fd);
  return file && is_wanted(wanted, *file);
}

// A variable of that frame, or an attribute of one: `client`, `self.request`.
bool has_in_variable(const ProcessSnapshot& of,
                     const PythonFrame& frame,
                     const Wanted& wanted) {
  const ObjectReader& objects = of.objects();
  const auto variables = read_locals(objects, frame.address, frame.code);
  for (const auto& variable :
       variables ? *variables : std::vector<Variable>()) {
    if (has_wanted(of, wanted, variable.object)) {
      return true;
    }
    const auto type = objects.type_of(variable.object);
    if (!type || !(*type)->in_python()) {
      continue;
    }
    bool found = false;
    std::size_t seen = 0;
    (void)each_attribute(objects, variable.object, **type,
                         [&](const std::string&, Address value) {
                           found = has_wanted(of, wanted, value);
                           return !found && ++seen < kMostAttributes;
                         });
    if (found) {
      return true;
    }
  }
  return false;
}

// A handler of one request has a reference to its server: it does not accept.
bool handles_one(const ThreadSnapshot& thread) {
  return thread.find("process_request_thread", "/socketserver.py") != nullptr;
}

bool uses_by_variable(const ProcessSnapshot& of,
                      const ThreadSnapshot& thread,
                      const Wanted& wanted) {
  if (!of.is_python() || (!wanted.peer.accepted && handles_one(thread))) {
    return false;
  }
  of.objects().allow_reads(kReads);
  const auto count = std::min(kMostFrames, thread.frames().size());
  return std::ranges::any_of(std::span(thread.frames()).first(count),
                             [&](const PythonFrame& frame) {
                               return has_in_variable(of, frame, wanted);
                             });
}

// A loop of asyncio that is blocked watches it all the same: by the set of
// epoll(7) that its selector has (pyEpoll_Object, Modules/selectmodule.c).
bool is_in_event_loop(const ProcessSnapshot& of,
                      const ThreadSnapshot& thread,
                      const Wanted& wanted) {
  const PythonFrame* const loop =
      thread.find("_run_once", "/asyncio/base_events.py");
  const auto selector = loop != nullptr
                            ? of.object(*loop, "self._selector._selector")
                            : std::nullopt;
  if (!selector) {
    return false;
  }
  const auto fd = of.objects().memory().read_value<std::int32_t>(
      *selector + of.objects().at().object_size);
  const auto set = fd ? of.file(*fd) : std::nullopt;
  return set && std::ranges::any_of(set->watches, [&](const EpollWatch& one) {
           const auto file = of.file(one.fd);
           return file && is_wanted(wanted, *file);
         });
}

// A thread asleep in accept() may still have the accepted socket in a variable.
bool waits_for_connections(const ProcessSnapshot& of,
                           const ThreadSnapshot& thread) {
  if (thread.sleeps_in("accept") || thread.sleeps_in("accept4")) {
    return true;
  }
  const AwaitedFiles awaited = awaited_files(of, thread);
  return std::ranges::any_of(awaited.files, [&](const AwaitedFile& one) {
    const auto socket = one.file.kind == FileKind::Socket
                            ? of.system.tcp_socket(of.pid, one.file.inode)
                            : std::nullopt;
    return socket && socket->state == TcpState::Listen;
  });
}

// In one process: threads that are known to handle it, and those that may.
struct Candidates {
  std::vector<SocketThread> known;
  std::vector<SocketThread> possible;
};

Candidates candidates(const ProcessSnapshot& of, const Wanted& wanted) {
  Candidates found;
  if (of.threads.size() == 1) {
    const ThreadSnapshot& only = of.threads.front();
    const auto use = use_by_call(of, only, wanted);
    auto& into = use && *use != SocketUse::Reads ? found.known : found.possible;
    into.push_back({only.id, use.value_or(SocketUse::OnlyThread)});
    return found;
  }
  std::vector<SocketThread> others, by_variable;
  for (const ThreadSnapshot& thread : of.threads) {
    const auto use = use_by_call(of, thread, wanted);
    if (use == SocketUse::Reads) {
      found.possible.push_back({thread.id, *use});
    } else if (use) {
      found.known.push_back({thread.id, *use});
    } else if (is_in_event_loop(of, thread, wanted)) {
      found.known.push_back({thread.id, SocketUse::EventLoop});
    }
    if (!use && others.size() < kMostThreads) {
      others.push_back({thread.id, SocketUse::Unknown});
      if (uses_by_variable(of, thread, wanted)) {
        by_variable.push_back({thread.id, SocketUse::Variable});
      }
    }
  }
  // A thread that waits for connections keeps accepted ones in variables.
  if (wanted.peer.accepted && by_variable.size() > 1) {
    std::erase_if(by_variable, [&](const SocketThread& one) {
      return waits_for_connections(of, *of.thread(one.id.tid));
    });
  }
  if (wanted.peer.accepted || found.known.empty()) {
    std::ranges::copy(by_variable, std::back_inserter(found.known));
  }
  if (!found.possible.empty()) {  // it is read: another thread may write
    std::ranges::copy(others, std::back_inserter(found.possible));
  } else {
    const bool has_read = wanted.peer.has_read_all();
    found.possible = {{of.threads.front().id, has_read && !of.is_python()
                                                  ? SocketUse::HasRead
                                                  : SocketUse::Unknown}};
  }
  return found;
}

// In the waiter's own process, without the waiter.
void without_asking(const ProcessSnapshot& of,
                    const ThreadSnapshot& asks,
                    Candidates& found) {
  const auto is_asking = [&](const SocketThread& one) {
    return one.id == asks.id;
  };
  if (of.threads.size() == 1) {
    return;
  }
  if (!std::ranges::all_of(found.known, is_asking)) {
    std::erase_if(found.known, is_asking);
  }
  if (found.known.empty()) {
    found.possible.clear();
    for (const ThreadSnapshot& thread : of.threads) {
      if (thread.id != asks.id && found.possible.size() < kMostThreads) {
        found.possible.push_back({thread.id, SocketUse::Unknown});
      }
    }
  }
}

}  // namespace

SocketThreads who_handles(const SocketPeer& peer,
                          const ProcessSnapshot& of,
                          const ThreadSnapshot& asks) {
  std::map<int, std::vector<int>> fds;
  for (const SocketFd& holder : peer.holders) {
    if (fds.size() < kMostHolders || fds.contains(holder.pid)) {
      fds[holder.pid].push_back(holder.fd);
    }
  }
  std::vector<int> pids;
  std::ranges::copy(fds | std::views::keys, std::back_inserter(pids));
  of.system.take_snapshots(pids);
  Candidates all, own;
  bool all_told = peer.all_seen && fds.size() < kMostHolders;
  for (const auto& [pid, its] : fds) {
    const ProcessSnapshot* const holder =
        pid == of.pid ? &of : of.system.snapshot(pid);
    if (holder == nullptr || holder->threads.empty()) {
      all_told = false;
      continue;
    }
    Candidates found = candidates(*holder, {peer, its});
    if (pid == of.pid) {
      without_asking(of, asks, found);
      own = std::move(found);
    } else {
      std::ranges::copy(found.known, std::back_inserter(all.known));
      std::ranges::copy(found.possible, std::back_inserter(all.possible));
    }
  }
  // A child may have inherited the other end of what its parent waits for, and
  // the parent may still have it.
  std::ranges::copy_if(own.known, std::back_inserter(all.known),
                       [&](const SocketThread& one) {
                         return one.id != asks.id || fds.size() == 1;
                       });
  if (fds.size() == 1) {
    std::ranges::copy(own.possible, std::back_inserter(all.possible));
  }
  SocketThreads threads;
  threads.exact = all_told;
  if (!all.known.empty()) {
    threads.threads = std::move(all.known);
  } else {
    threads.exact = threads.exact && all.possible.size() == 1 &&
                    all.possible.front().use != SocketUse::Unknown &&
                    all.possible.front().use != SocketUse::HasRead;
    threads.threads = std::move(all.possible);
  }
  return threads;
}

}  // namespace hangdbg
