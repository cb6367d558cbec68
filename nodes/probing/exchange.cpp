#include "nodes/probing/exchange.h"

#include <fmt/core.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <set>
#include <utility>

#include "nodes/probing/connector.h"
#include "nodes/probing/visitor.h"
#include "nodes/probing/wire.h"
#include "nodes/processes/descriptor_limit.h"

namespace hangdbg {
namespace {

constexpr std::array<std::pair<Reach, std::string_view>, 11> kNames = {{
    {Reach::Whole, "whole"},
    {Reach::Accepted, "accepted"},
    {Reach::Refused, "refused"},
    {Reach::NoAnswer, "no-answer"},
    {Reach::NoRoute, "no-route"},
    {Reach::Silent, "silent"},
    {Reach::LostThere, "large-lost-there"},
    {Reach::LostBack, "large-lost-back"},
    {Reach::OtherNode, "other-node"},
    {Reach::OtherProgram, "other-program"},
    {Reach::Failed, "failed"},
}};
constexpr auto kBetweenTries = std::chrono::milliseconds(100);
constexpr std::size_t kMostVisitors = 4096;

struct Exchange {
  Fd listener;
  const ProbeParty& party;
  std::vector<ProbeConnector> connectors;
  std::vector<ProbeVisitor> visitors = {};
  std::set<int> been_here = {};

  void run(Deadline deadline);
  void go_on();
  void accept();
  void close_finished();
  bool finished() const;
  void wait(Deadline deadline);
};

void Exchange::run(Deadline deadline) {
  for (;;) {
    go_on();
    close_finished();
    if (finished() || deadline.expired()) {
      break;
    }
    wait(deadline);
  }
  for (ProbeConnector& one : connectors) {
    one.give_up();
  }
}

void Exchange::go_on() {
  accept();
  for (ProbeVisitor& one : visitors) {
    one.go_on();
    if (const auto number = one.done()) {
      been_here.insert(*number);
    }
  }
  std::erase_if(visitors, [](const ProbeVisitor& one) { return one.over(); });
  for (ProbeConnector& one : connectors) {
    one.go_on();
  }
}

void Exchange::accept() {
  while (visitors.size() < kMostVisitors) {
    Fd socket(::accept4(listener.get(), nullptr, nullptr,
                        SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
      return;
    }
    visitors.emplace_back(std::move(socket), party);
  }
}

// A node that is tried at several addresses listens until it has seen the end
// of one connection: none is closed before all have been tried.
void Exchange::close_finished() {
  std::set<int> busy;
  for (const ProbeConnector& one : connectors) {
    if (!one.over()) {
      busy.insert(one.target().node.value_or(-1));
    }
  }
  for (ProbeConnector& one : connectors) {
    if (one.over() && !busy.contains(one.target().node.value_or(-1))) {
      one.close();
    }
  }
}

bool Exchange::finished() const {
  return std::ranges::all_of(connectors,
                             [](const auto& one) { return one.over(); }) &&
         been_here.size() + 1 >= static_cast<std::size_t>(party.count);
}

void Exchange::wait(Deadline deadline) {
  const bool full = visitors.size() >= kMostVisitors;
  std::vector<pollfd> fds = {{full ? -1 : listener.get(), POLLIN, 0}};
  for (const ProbeVisitor& one : visitors) {
    fds.push_back({one.fd(), one.events(), 0});
  }
  Deadline next = deadline;
  for (const ProbeConnector& one : connectors) {
    if (one.over()) {
      continue;
    }
    if (one.fd() < 0) {
      next = next.capped(std::min(one.again().left(),
                                  Deadline::Clock::duration(kBetweenTries)));
    } else {
      fds.push_back({one.fd(), one.events(), 0});
    }
  }
  ::poll(fds.data(), fds.size(), next.left_ms());
}

}  // namespace

std::string_view reach_name(Reach reach) {
  return std::ranges::find(kNames, reach,
                           &std::pair<Reach, std::string_view>::first)
      ->second;
}

std::optional<Reach> reach_of_name(std::string_view name) {
  const auto* const found = std::ranges::find(
      kNames, name, &std::pair<Reach, std::string_view>::second);
  return found == std::end(kNames) ? std::nullopt : std::optional(found->first);
}

Result<ProbeListener> open_probe_listener(std::uint16_t port) {
  ProbeListener made{
      .socket = Fd(
          ::socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0))};
  sockaddr_storage storage{};
  socklen_t size = sizeof(sockaddr_in6);
  if (made.socket) {
    const int off = 0;
    ::setsockopt(made.socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off,
                 sizeof off);
    auto& v6 = reinterpret_cast<sockaddr_in6&>(storage);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
  } else {
    // A machine without IPv6.
    made.socket.reset(
        ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    auto& v4 = reinterpret_cast<sockaddr_in&>(storage);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    size = sizeof v4;
  }
  auto* const address = reinterpret_cast<sockaddr*>(&storage);
  if (!made.socket || ::bind(made.socket.get(), address, size) != 0 ||
      ::listen(made.socket.get(), SOMAXCONN) != 0 ||
      ::getsockname(made.socket.get(), address, &size) != 0) {
    return fail_errno(
        fmt::format("cannot listen for the other nodes on port {}", port));
  }
  made.port = ntohs(storage.ss_family == AF_INET6
                        ? reinterpret_cast<sockaddr_in6&>(storage).sin6_port
                        : reinterpret_cast<sockaddr_in&>(storage).sin_port);
  return made;
}

std::vector<ProbeOutcome> exchange_with_nodes(
    ProbeListener listener,
    const ProbeParty& party,
    const std::vector<ProbeTarget>& targets,
    Deadline deadline) {
  allow_descriptors(16384);
  Exchange exchange{
      .listener = std::move(listener.socket), .party = party, .connectors = {}};
  for (const ProbeTarget& target : targets) {
    exchange.connectors.emplace_back(target, party);
  }
  exchange.run(deadline);
  std::vector<ProbeOutcome> outcomes;
  for (const ProbeConnector& one : exchange.connectors) {
    outcomes.push_back(one.outcome());
  }
  return outcomes;
}

}  // namespace hangdbg
