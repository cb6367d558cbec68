#include "diagnosis/causes/socket_peer.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "diagnosis/waits/database_clients.h"
#include "diagnosis/waits/socket_threads.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg::causes {
namespace {

// The holders besides `own`.
std::vector<int> other_holders(const SocketPeer& peer, int own) {
  std::set<int> pids;
  for (const SocketFd& holder : peer.holders) {
    if (holder.pid != own) {
      pids.insert(holder.pid);
    }
  }
  return {pids.begin(), pids.end()};
}

std::string holders_text(const std::vector<int>& pids, int first) {
  const std::string one = process_text(first);
  return pids.size() == 1
             ? one
             : fmt::format("{}, or another of {} processes,", one, pids.size());
}

// "Recv-Q 1, backlog 5", as ss(8) names them.
std::string accept_queue(const SocketPeer& peer) {
  const std::string where =
      peer.name.empty() ? "the listening socket" : printable(peer.name);
  return fmt::format("the accept queue of {}: Recv-Q {}{}", where, peer.waiting,
                     peer.room ? fmt::format(", backlog {}", *peer.room) : "");
}

// A thread that is stopped in such a call does not wait there.
std::string what_it_does(SocketUse use, const ThreadSnapshot* thread) {
  if (thread == nullptr || thread->wait.state != 'S') {
    return "";
  }
  switch (use) {
    case SocketUse::Watches:
      return ", which waits for events";
    case SocketUse::Reads:
      return ", which itself waits for data from it";
    case SocketUse::Accepts:
      return ", which waits for connections";
    case SocketUse::HasRead:
      return ", which has read all that was sent";
    default:
      return "";
  }
}

std::string use_text(SocketUse use, const ThreadSnapshot& thread) {
  std::string who = thread.who();
  if (thread.wait.state == 'T' || thread.wait.state == 't') {
    who += ", which is stopped,";
  }
  switch (use) {
    case SocketUse::Watches:
      return fmt::format("{} is in {} of it, among others", who,
                         thread.wait.syscall);
    case SocketUse::Accepts:
      return fmt::format("{} is in {} of it", who, thread.wait.syscall);
    case SocketUse::Variable:
      return fmt::format("{} has that socket in a variable", who);
    case SocketUse::EventLoop:
      return fmt::format("{} runs the event loop that watches it", who);
    case SocketUse::Reads:
      return fmt::format("{} is in {} of it alone", who, thread.wait.syscall);
    case SocketUse::OnlyThread:
      return fmt::format("{} has one thread", who);
    case SocketUse::HasRead:
      return fmt::format(
          "no thread of process {} is seen to wait for that connection; which "
          "one handles it is not known",
          thread.id.pid);
    case SocketUse::Unknown:
      break;
  }
  return fmt::format("which thread of process {} handles it is not known",
                     thread.id.pid);
}

const ThreadSnapshot* thread_of(const ProcessSnapshot& of, ThreadId id) {
  const ProcessSnapshot* const its =
      id.pid == of.pid ? &of : of.system.snapshot(id.pid);
  return its != nullptr ? its->thread(id.tid) : nullptr;
}

void say_who(const ProcessSnapshot& of,
             const SocketPeer& peer,
             const SocketThreads& found,
             Cause& cause) {
  constexpr std::size_t kMost = 3;
  std::set<int> told;
  for (const SocketFd& holder : peer.holders) {
    if (told.insert(holder.pid).second && told.size() <= kMost) {
      cause.evidence.push_back(
          fmt::format("{} has {}, fd {}", process_text(holder.pid),
                      peer.accepted ? "the other end" : "that listening socket",
                      holder.fd));
    }
  }
  std::set<std::string> lines;
  for (const SocketThread& one : found.threads) {
    const ThreadSnapshot* const thread = thread_of(of, one.id);
    if (thread != nullptr && lines.size() < kMost &&
        lines.insert(use_text(one.use, *thread)).second) {
      cause.evidence.push_back(use_text(one.use, *thread));
    }
  }
}

void tell_database(const ProcessSnapshot& of, int server, Cause& cause) {
  constexpr std::size_t kMost = 4;
  const auto clients = database_clients(of.system, server);
  if (!clients) {
    return;
  }
  cause.next.push_back({std::string(clients->command),
                        "which lock is waited for, and its owner"});
  std::size_t told = 0;
  for (const int pid : clients->idle) {
    if (pid != of.pid && told++ < kMost) {
      cause.evidence.push_back(fmt::format(
          "{} has a connection to it and asks nothing now: if it is in a "
          "transaction, it has that one's locks",
          process_text(pid)));
    }
  }
}

}  // namespace

bool lead_to_peer(const ProcessSnapshot& of,
                  const ThreadSnapshot& thread,
                  const SocketPeer& peer,
                  const SocketWait& wait,
                  Cause& cause) {
  if (!peer.accepted) {
    cause.evidence.push_back(wait.connects ? "no room in " + accept_queue(peer)
                                           : "not accepted yet: it is in " +
                                                 accept_queue(peer));
  }
  if (peer.unread > 0) {
    cause.evidence.push_back(fmt::format(
        "{} bytes that were sent to the other end are unread", peer.unread));
  }
  const SocketThreads found = who_handles(peer, of, thread);
  if (found.threads.empty()) {
    return false;
  }
  say_who(of, peer, found, cause);
  cause.any_unblocks = true;
  cause.confidence = found.exact && !wait.with_time ? Confidence::Likely
                                                    : Confidence::Possible;
  if (wait.with_time) {
    cause.evidence.push_back("the call has a timeout: it returns by itself");
  }
  const bool itself = std::ranges::all_of(
      found.threads, [&](const auto& one) { return one.id == thread.id; });
  for (const SocketThread& one : found.threads) {
    if (one.use == SocketUse::HasRead) {
      cause.by_some_thread = true;
      cause.timeout_scale = kNoTimeTells;  // it may be busy for any time
      tell_database(of, one.id.pid, cause);
    } else {
      cause.blocked_by.push_back(one.id);
    }
  }
  if (itself) {
    // A signal handler may write to a socket that it interrupts.
    if (peer.accepted && of.handles_signals()) {
      cause.confidence = Confidence::Possible;
    }
    if (cause.confidence == Confidence::Possible) {
      cause.blocked_by.clear();
    }
    cause.summary =
        wait.connects
            ? fmt::format(
                  "connects to {}, which does not answer: its accept queue is "
                  "full, and only this thread itself can accept",
                  printable(wait.to))
        : peer.accepted
            ? fmt::format(
                  "waits for {}, whose other end this process itself has",
                  wait.over)
            : fmt::format(
                  "waits for its own connection to {}, which only this thread "
                  "itself can accept",
                  printable(wait.to));
    return true;
  }
  const auto others = other_holders(peer, of.pid);
  const SocketThread& first = found.threads.front();
  const std::string who =
      others.empty()
          ? "another thread of this process"
          : holders_text(
                others, first.id.pid == of.pid ? others.front() : first.id.pid);
  const bool one_alone = found.threads.size() == 1;
  const std::string does =
      one_alone ? what_it_does(first.use, thread_of(of, first.id)) : "";
  if (wait.connects) {
    cause.summary = fmt::format(
        "connects to {}, which does not answer: its accept queue is full, and "
        "{} does not accept{}",
        printable(wait.to), who, does);
  } else if (!peer.accepted) {
    cause.summary = fmt::format("waits for {} to accept its connection to {}{}",
                                who, printable(wait.to), does);
  } else if (others.empty()) {
    cause.summary = fmt::format(
        "waits for {}, whose other end this process itself has", wait.over);
  } else if (wait.reads) {
    cause.summary =
        fmt::format("waits for what {} sends over {}{}", who, wait.over, does);
  } else {
    cause.summary =
        fmt::format("waits until {} reads from {}{}", who, wait.over, does);
  }
  return true;
}

}  // namespace hangdbg::causes
