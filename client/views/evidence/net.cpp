#include "client/views/evidence/net.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "protocol/reports/net.h"

namespace hangdbg {
namespace {

using std::chrono::milliseconds;

reports::NetSocket json_of_socket(const SeenSocket& from);
std::string socket_text(const SeenSocket& socket,
                        const SeenNet& net,
                        const Palette& out);

}  // namespace

std::string net_text(const SeenNet& net, const Palette& out) {
  std::string text = out.bold(fmt::format(
      "Process {} ({}) · {} socket{}{}", net.pid, printable(net.name),
      net.sockets.size(), net.sockets.size() == 1 ? "" : "s",
      net.ours ? "" : fmt::format(" · in network namespace {}", net.network)));
  text += "\n";
  for (const SeenSocket& socket : net.sockets) {
    text += socket_text(socket, net, out);
  }
  for (const std::string& one : net.skipped) {
    text += out.dim("not seen: " + printable(one)) + "\n";
  }
  return text;
}

Json net_json(const SeenNet& net) {
  reports::Net json{.pid = net.pid,
                    .network_namespace = static_cast<std::int64_t>(net.network),
                    .ours = net.ours,
                    .unseen = static_cast<std::int64_t>(net.unseen),
                    .skipped = net.skipped};
  for (const SeenSocket& socket : net.sockets) {
    json.sockets.push_back(json_of_socket(socket));
  }
  for (const Interface& one : net.interfaces) {
    reports::NetInterface interface {
      .name = one.name, .up = one.up, .running = one.running
    };
    for (const SocketAddress& address : one.addresses) {
      interface.addresses.push_back(address.host_text());
    }
    json.interfaces.push_back(std::move(interface));
  }
  return encode(json);
}

namespace {

std::string_view unix_state(const UnixSocket& socket) {
  return socket.listens     ? "LISTEN"
         : socket.connected ? "CONNECTED"
                            : "UNCONNECTED";
}

// UDP has no states of its own: the kernel uses TCP's.
std::string inet_state(const SeenSocket& socket) {
  return socket.protocol != "UDP"
             ? std::string(tcp_state_name(socket.inet->state))
         : socket.inet->state == TcpState::Established ? "CONNECTED"
                                                       : "UNCONNECTED";
}

void put_inet(const SeenSocket& from, reports::NetSocket& json) {
  const TcpSocket& socket = *from.inet;
  json.state = inet_state(from);
  json.local = socket.local.text();
  if (socket.state == TcpState::Listen) {
    json.waiting = socket.unread;
    json.backlog = socket.unacknowledged;
    return;
  }
  json.remote = socket.remote.text();
  json.unread = socket.unread;
  json.unacknowledged = socket.unacknowledged;
  json.retransmits = socket.retransmits;
  json.timer = std::string(tcp_timer_name(socket.timer));
  if (socket.timer != TcpTimer::None) {
    json.timer_ms = socket.timer_due.count();
  }
  if (!socket.progress) {
    return;
  }
  const TcpProgress& progress = *socket.progress;
  reports::NetProgress info{
      .rto_ms = static_cast<double>(progress.rto.count()) / 1e3,
      .rtt_ms = static_cast<double>(progress.rtt.count()) / 1e3,
      .congestion_window = progress.congestion_window,
      .unacknowledged_segments = progress.unacknowledged_segments,
      .lost = progress.lost,
      .backoff = progress.backoff,
      .probes = progress.probes,
      .total_retransmits = progress.total_retransmits};
  if (socket.state != TcpState::SynSent) {
    info.last_sent_ms = progress.last_sent.count();
    info.last_received_ms = progress.last_received.count();
    info.last_answered_ms = progress.last_answered.count();
  }
  if (progress.peer_window) {
    info.peer_window = *progress.peer_window;
  }
  if (progress.acknowledged && progress.received) {
    info.bytes_acknowledged = static_cast<std::int64_t>(*progress.acknowledged);
    info.bytes_received = static_cast<std::int64_t>(*progress.received);
  }
  if (progress.unsent) {
    info.unsent = *progress.unsent;
  }
  json.tcp_info = info;
}

void put_unix(const UnixSocket& socket, reports::NetSocket& json) {
  json.state = std::string(unix_state(socket));
  json.path = socket.name;
  if (socket.listens) {
    json.waiting = socket.unread;
    json.backlog = socket.unsent;
  } else {
    json.unread = socket.unread;
    json.unacknowledged = socket.unsent;
  }
}

std::optional<std::int64_t> in_ms(std::optional<milliseconds> time) {
  return time ? std::optional<std::int64_t>(time->count()) : std::nullopt;
}

reports::NetSocket json_of_socket(const SeenSocket& from) {
  reports::NetSocket json{.inode = static_cast<std::int64_t>(from.inode),
                          .fds = from.fds,
                          .protocol = from.protocol,
                          .source = std::string(source_name(from.source)),
                          .odd = from.odd};
  if (from.inet) {
    put_inet(from, json);
  }
  if (from.local) {
    put_unix(*from.local, json);
  }
  if (!from.interface.empty()) {
    json.interface = from.interface;
  }
  if (from.options) {
    const SocketOptions& options = *from.options;
    json.options = {.keeps_alive = options.keeps_alive,
                    .keep_idle_s = options.keep_idle.count(),
                    .user_timeout_ms = in_ms(options.user_timeout),
                    .receive_timeout_ms = in_ms(options.receive_timeout),
                    .send_timeout_ms = in_ms(options.send_timeout),
                    .device = options.device};
  }
  for (const SocketHolder& other : from.others) {
    json.others.push_back({other.pid, other.fd, other.name});
  }
  return json;
}

// ---- text

std::string socket_head(const SeenSocket& socket) {
  std::string text = socket.protocol;
  if (socket.inet) {
    const TcpSocket& inet = *socket.inet;
    text += " " + inet.local.text();
    if (inet.remote.port != 0) {
      text += " - " + inet.remote.text();
    }
    text += " " + inet_state(socket);
    if (inet.state == TcpState::Listen) {
      text += fmt::format(", {} of {} wait", inet.unread, inet.unacknowledged);
    }
  }
  if (socket.local) {
    const UnixSocket& local = *socket.local;
    text += fmt::format("{}{} {}", local.name.empty() ? "" : " ",
                        printable(local.name), unix_state(local));
    if (local.listens && local.unread) {
      text += fmt::format(", {} of {} wait", *local.unread,
                          local.unsent.value_or(0));
    }
  }
  return socket.interface.empty() ? text
                                  : text + " · " + printable(socket.interface);
}

std::string progress_text(const TcpSocket& socket) {
  const TcpProgress& progress = *socket.progress;
  std::string text;
  if (socket.state != TcpState::SynSent) {  // else they are since the boot
    text = fmt::format("sent {} ago, received {} ago · ",
                       human_duration(progress.last_sent),
                       human_duration(progress.last_received));
  }
  text += fmt::format("rto {}, rtt {}, cwnd {}", human_duration(progress.rto),
                      human_duration(progress.rtt), progress.congestion_window);
  if (progress.peer_window) {
    text += fmt::format(", window {}", *progress.peer_window);
  }
  if (progress.total_retransmits > 0) {
    text += fmt::format(" · sent again {} time{} in all",
                        progress.total_retransmits,
                        progress.total_retransmits == 1 ? "" : "s");
  }
  if (socket.timer != TcpTimer::None) {
    text += fmt::format(" · {} in {}", tcp_timer_name(socket.timer),
                        human_duration(socket.timer_due));
  }
  return text;
}

std::string options_text(const SocketOptions& options) {
  std::string text = options.keeps_alive ? "keep-alive after " +
                                               human_duration(options.keep_idle)
                                         : "no keep-alive";
  const auto add = [&](const char* what, std::optional<milliseconds> time) {
    if (time) {
      text += fmt::format(", {} {}", what, human_duration(*time));
    }
  };
  add("user timeout", options.user_timeout);
  add("receive timeout", options.receive_timeout);
  add("send timeout", options.send_timeout);
  return options.device.empty()
             ? text
             : text + ", bound to " + printable(options.device);
}

std::string others_text(const SeenSocket& socket, const SeenNet& net) {
  std::string text;
  for (const SocketHolder& other : socket.others) {
    text += fmt::format("{}{} ({}) fd {}", text.empty() ? "" : ", ", other.pid,
                        printable(other.name), other.fd);
  }
  if (text.empty() && net.unseen > 0 && socket.local &&
      socket.local->peer != 0) {
    text = fmt::format("no process found ({} processes are not readable)",
                       net.unseen);
  }
  return text;
}

std::string socket_line(std::string_view label,
                        const std::string& text,
                        const Palette& out) {
  return fmt::format("           {} {}\n", out.dim(fmt::format("{:<7}", label)),
                     text);
}

std::string socket_text(const SeenSocket& socket,
                        const SeenNet& net,
                        const Palette& out) {
  std::string fds;
  for (const int fd : socket.fds) {
    fds += fmt::format("{}{}", fds.empty() ? "" : ",", fd);
  }
  const std::string head = socket_head(socket);
  std::string text = fmt::format("{:>9}  {}\n", fds,
                                 socket.odd.empty() ? head : out.bold(head));
  for (const std::string& odd : socket.odd) {
    text += socket_line("odd", out.red(printable(odd)), out);
  }
  if (socket.inet && socket.inet->progress &&
      socket.inet->state != TcpState::Listen) {
    text += socket_line("tcp", progress_text(*socket.inet), out);
  }
  if (socket.options && socket.inet && socket.inet->state != TcpState::Listen) {
    text += socket_line("options", options_text(*socket.options), out);
  }
  if (const auto others = others_text(socket, net); !others.empty()) {
    text += socket_line("other", others, out);
  }
  return text;
}

}  // namespace
}  // namespace hangdbg
