#include "diagnosis/evidence/unusual_sockets.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "base/text.h"

namespace hangdbg {
namespace {

// How bad, and its description.
using Oddity = std::pair<int, std::string>;

std::vector<Oddity> of_sending(const TcpSocket& socket) {
  std::vector<Oddity> odd;
  const auto& progress = socket.progress;
  const std::string since =
      progress && progress->last_answered.count() > 0 &&
              socket.state != TcpState::SynSent
          ? fmt::format(", last answered {} ago",
                        human_duration(progress->last_answered))
          : "";
  if (socket.state == TcpState::SynSent) {
    odd.emplace_back(
        100, fmt::format(
                 "SYN_SENT: the peer has not answered{}",
                 socket.retransmits > 0
                     ? fmt::format(", asked again {} times", socket.retransmits)
                     : ""));
  } else if (socket.timer == TcpTimer::ZeroWindow) {
    odd.emplace_back(
        85, fmt::format("the peer has no room: it does not read{}{}",
                        progress && progress->probes > 0
                            ? fmt::format(", asked {} times", progress->probes)
                            : "",
                        since));
  } else if (socket.retransmits > 0) {
    odd.emplace_back(
        90, fmt::format("sent again {} time{}, and not "
                        "acknowledged{}",
                        socket.retransmits, socket.retransmits == 1 ? "" : "s",
                        since));
  } else if (socket.timer == TcpTimer::KeepAlive && progress &&
             progress->probes > 0) {
    odd.emplace_back(80, fmt::format("keep-alive asked {} times, and got no "
                                     "answer",
                                     progress->probes));
  }
  return odd;
}

std::string awaited(std::uint32_t waiting, std::uint32_t backlog) {
  return fmt::format("{} of {} wait to be accepted", waiting, backlog);
}

// The number of waiting connections, and their limit.
void add_backlog(std::uint32_t waiting,
                 std::uint32_t backlog,
                 std::vector<Oddity>& odd) {
  if (waiting > backlog) {
    odd.emplace_back(75, "its backlog is full: " + awaited(waiting, backlog));
  } else if (waiting > 0) {
    odd.emplace_back(45, awaited(waiting, backlog));
  }
}

std::vector<Oddity> of_queues(const SeenSocket& seen) {
  const TcpSocket& socket = *seen.inet;
  std::vector<Oddity> odd;
  if (socket.state == TcpState::Listen) {
    if (seen.source != SocketSource::Proc) {
      add_backlog(socket.unread, socket.unacknowledged, odd);
    } else if (socket.unread > 0) {  // the limit is unknown here
      odd.emplace_back(45,
                       fmt::format("{} wait to be accepted", socket.unread));
    }
    return odd;
  }
  if (seen.protocol == "UDP") {
    if (socket.unread > 0) {
      odd.emplace_back(60, fmt::format("unread datagrams, which take {} bytes",
                                       socket.unread));
    }
    return odd;
  }
  if (socket.unread > 0) {
    odd.emplace_back(60, fmt::format("{} bytes unread", socket.unread));
  }
  if (socket.unacknowledged > 0 && socket.state != TcpState::SynSent) {
    odd.emplace_back(
        50, fmt::format("{} bytes not acknowledged", socket.unacknowledged));
  }
  if (socket.state == TcpState::CloseWait) {
    odd.emplace_back(55, "the peer has closed it, and this process has not");
  }
  return odd;
}

std::vector<Oddity> of_interface(const SeenSocket& socket,
                                 const std::vector<Interface>& interfaces) {
  const SocketAddress& local = socket.inet->local;
  if (local.is_any() || interfaces.empty()) {
    return {};
  }
  const Interface* const own = interface_of(interfaces, local);
  if (own == nullptr) {
    return {{95, "no interface has its address"}};
  }
  return own->up && own->running
             ? std::vector<Oddity>()
             : std::vector<Oddity>{
                   {95, fmt::format("its interface {} is {}", own->name,
                                    own->up ? "without a carrier" : "down")}};
}

std::vector<Oddity> of_unix(const UnixSocket& socket) {
  std::vector<Oddity> odd;
  const auto unread = socket.unread.value_or(0);
  const auto unsent = socket.unsent.value_or(0);
  if (socket.listens) {
    add_backlog(unread, unsent, odd);
    return odd;
  }
  if (unread > 0) {
    odd.emplace_back(60, fmt::format("{} bytes unread", unread));
  }
  if (unsent > 0) {
    odd.emplace_back(
        50, fmt::format("{} bytes that the other end has not read", unsent));
  }
  return odd;
}

}  // namespace

void tell_oddities(SeenSocket& socket,
                   const std::vector<Interface>& interfaces) {
  std::vector<Oddity> odd;
  const auto add = [&](std::vector<Oddity> more) {
    odd.insert(odd.end(), more.begin(), more.end());
  };
  if (socket.inet) {
    if (socket.protocol == "TCP") {
      add(of_sending(*socket.inet));
    }
    add(of_queues(socket));
    add(of_interface(socket, interfaces));
  }
  if (socket.local) {
    add(of_unix(*socket.local));
  }
  std::ranges::stable_sort(odd, std::ranges::greater(), &Oddity::first);
  for (auto& [bad, words] : odd) {
    socket.oddness = std::max(socket.oddness, bad);
    socket.odd.push_back(std::move(words));
  }
}

}  // namespace hangdbg
