#include "tracee/net/tcp_sockets.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "tracee/net/netlink.h"
#include "tracee/proc/proc_file.h"

namespace hangdbg {
namespace {

// A machine with more has other troubles.
constexpr std::size_t kMostSockets = 200'000;
constexpr std::size_t kMostDescriptors = 200'000;
// The kernel answers before send(2) returns.
constexpr auto kOneAnswer = std::chrono::seconds(1);
// All but TIME_WAIT: no process has those open.
constexpr std::uint32_t kStates =
    0xfff & ~(1U << static_cast<unsigned>(TcpState::TimeWait));

Result<TcpSockets> read_sockets(int pid,
                                int protocol,
                                const std::string& file,
                                Deadline deadline);
Result<TcpSockets> read_listed(int pid, const std::string& file);
void add_socket(const TcpSocket& socket, TcpSockets& found);
Result<std::vector<TcpSocket>> ask_for_one(const SocketAddress& local,
                                           const SocketAddress& remote);
Status dump_family(int diag,
                   std::uint8_t family,
                   int protocol,
                   Deadline deadline,
                   TcpSockets& found);
TcpSocket socket_of(const inet_diag_msg& message,
                    std::span<const std::byte> body);
std::optional<TcpProgress> progress_of(std::span<const std::byte> info);
SocketAddress address_of(std::uint8_t family,
                         const __be32 (&words)[4],
                         __be16 port);
void put_address(const SocketAddress& address, __be32 (&words)[4]);
std::optional<SocketAddress> parse_address(std::string_view text);

}  // namespace

Result<TcpSockets> read_tcp_sockets(int pid, Deadline deadline) {
  return read_sockets(pid, IPPROTO_TCP, "net/tcp", deadline);
}

Result<TcpSockets> read_udp_sockets(int pid, Deadline deadline) {
  return read_sockets(pid, IPPROTO_UDP, "net/udp", deadline);
}

// A kernel without such queries says that no socket is there. Of our own end
// that is not true: where it has been closed, the one that listens there is
// found in its place.
Result<std::optional<TcpSocket>> find_tcp_peer(const SocketAddress& ours,
                                               const SocketAddress& peers) {
  std::vector<TcpSocket> found;
  if (auto peer = ask_for_one(peers, ours)) {
    found = *std::move(peer);
  } else if (!ask_for_one(ours, peers)) {
    found = TRY(read_listed(::getpid(), "net/tcp")).sockets;
  }
  const auto open = std::ranges::find_if(found, [&](const TcpSocket& socket) {
    return socket.state == TcpState::Established && socket.local == peers &&
           socket.remote == ours;
  });
  return open == found.end() ? std::nullopt : std::optional(*open);
}

Result<std::uint64_t> network_namespace(int pid) {
  const std::string link = TRY(read_proc_link(pid, "ns/net"));
  const auto begin = link.find('[');
  const auto number =
      begin == std::string::npos || !link.ends_with(']')
          ? std::nullopt
          : parse_number<std::uint64_t>(std::string_view(link).substr(
                begin + 1, link.size() - begin - 2));
  return number ? Result<std::uint64_t>(*number)
                : fail(ErrorId::System, fmt::format("/proc/{}/ns/net is \"{}\"",
                                                    pid, printable(link)));
}

Result<std::map<std::uint64_t, int>> socket_descriptors(int pid) {
  const Folder folder = TRY(open_proc_folder(pid, "fd"));
  constexpr std::string_view kSocket = "socket:[";
  std::map<std::uint64_t, int> found;
  std::array<char, 64> target{};
  std::size_t seen = 0;
  while (const dirent* entry = ::readdir(folder.get())) {
    const auto fd = parse_number<int>(entry->d_name);
    if (!fd || ++seen > kMostDescriptors) {
      continue;
    }
    const ssize_t size = ::readlinkat(::dirfd(folder.get()), entry->d_name,
                                      target.data(), target.size());
    const std::string_view text(target.data(),
                                size > 0 ? static_cast<std::size_t>(size) : 0);
    if (!text.starts_with(kSocket) || !text.ends_with(']')) {
      continue;
    }
    const auto inode = parse_number<std::uint64_t>(
        text.substr(kSocket.size(), text.size() - kSocket.size() - 1));
    if (inode) {
      const auto known = found.try_emplace(*inode, *fd).first;
      known->second = std::min(known->second, *fd);
    }
  }
  return found;
}

TcpSockets parse_proc_tcp(std::string_view text) {
  TcpSockets found;
  for (const std::string_view line : split(text, '\n')) {
    // sl local remote st tx:rx tr:when retransmits uid timeout inode
    const auto words = split_words(line);
    if (words.size() < 10) {
      continue;
    }
    const auto local = parse_address(words[1]);
    const auto remote = parse_address(words[2]);
    const auto state = parse_number<std::uint8_t>(words[3], 16);
    const auto queues = split(words[4], ':');
    const auto timer = static_cast<TcpTimer>(
        parse_number<std::uint8_t>(words[5].substr(0, 2), 16).value_or(0));
    // Another timer than 1 counts something else.
    const auto retransmits = words[5].starts_with("01:")
                                 ? parse_number<std::uint32_t>(words[6], 16)
                                 : std::nullopt;
    const auto user = parse_number<std::uint32_t>(words[7]);
    const auto inode = parse_number<std::uint64_t>(words[9]);
    if (!local || !remote || !state || queues.size() != 2 || !user || !inode) {
      continue;  // the title
    }
    const auto sent = parse_number<std::uint32_t>(queues[0], 16);
    const auto unread = parse_number<std::uint32_t>(queues[1], 16);
    if (!sent || !unread) {
      continue;
    }
    add_socket({.inode = *inode,
                .user = *user,
                .local = *local,
                .remote = *remote,
                .state = static_cast<TcpState>(*state),
                .unread = *unread,
                .unacknowledged = *sent,
                .retransmits = retransmits.value_or(0),
                .progress = {},
                .timer = timer},
               found);
  }
  return found;
}

TcpSocket parse_tcp_info(std::span<const std::byte> info) {
  const auto byte = [&](std::size_t at) {
    return value_at<std::uint8_t>(info, at).value_or(0);
  };
  TcpSocket socket{
      .state = static_cast<TcpState>(byte(offsetof(tcp_info, tcpi_state))),
      .retransmits = byte(offsetof(tcp_info, tcpi_retransmits)),
      .progress = progress_of(info)};
  if (socket.state == TcpState::Listen) {  // tcp_get_info, net/ipv4/tcp.c
    socket.unread =
        value_at<std::uint32_t>(info, offsetof(tcp_info, tcpi_unacked))
            .value_or(0);
    socket.unacknowledged =
        value_at<std::uint32_t>(info, offsetof(tcp_info, tcpi_sacked))
            .value_or(0);
  }
  return socket;
}

Result<bool> parse_diag(std::span<const std::byte> datagram,
                        TcpSockets& found) {
  return each_message(
      datagram, [&](std::uint16_t, std::span<const std::byte> body) {
        if (const auto message = value_at<inet_diag_msg>(body, 0)) {
          add_socket(socket_of(*message, body), found);
        }
      });
}

std::string_view tcp_timer_name(TcpTimer timer) {
  constexpr std::array<std::string_view, 5> kNames = {
      "none", "retransmit", "keep-alive", "time-wait", "zero-window probe"};
  const auto number = static_cast<std::size_t>(timer);
  return number < kNames.size() ? kNames[number] : kNames[0];
}

std::string_view tcp_state_name(TcpState state) {
  constexpr std::array<std::string_view, 12> kNames = {
      "?",          "ESTABLISHED", "SYN_SENT",  "SYN_RECV",
      "FIN_WAIT1",  "FIN_WAIT2",   "TIME_WAIT", "CLOSE",
      "CLOSE_WAIT", "LAST_ACK",    "LISTEN",    "CLOSING"};
  const auto number = static_cast<std::size_t>(state);
  return number < kNames.size() ? kNames[number] : kNames[0];
}

namespace {

Result<TcpSockets> read_sockets(int pid,
                                int protocol,
                                const std::string& file,
                                Deadline deadline) {
  TcpSockets found;
  const auto by_diag = [&]() -> Status {
    const Fd diag = TRY(open_netlink(pid, NETLINK_SOCK_DIAG));
    TRY(dump_family(diag.get(), AF_INET, protocol, deadline, found));
    return dump_family(diag.get(), AF_INET6, protocol, deadline, found);
  };
  const Status status = by_diag();
  if (status) {
    return found;
  }
  found = TRY(read_listed(pid, file));
  found.why_no_progress = status.error();
  if (found.sockets.size() > kMostSockets) {
    found.sockets.resize(kMostSockets);
    found.complete = false;
  }
  return found;
}

Result<TcpSockets> read_listed(int pid, const std::string& file) {
  TcpSockets found = parse_proc_tcp(TRY(read_proc_file(pid, file)));
  if (const auto text = read_proc_file(pid, file + "6")) {  // if there is IPv6
    TcpSockets more = parse_proc_tcp(*text);
    std::ranges::move(more.sockets, std::back_inserter(found.sockets));
    std::ranges::move(more.not_accepted,
                      std::back_inserter(found.not_accepted));
  }
  return found;
}

// One that a process has closed has no inode either, and another state.
void add_socket(const TcpSocket& socket, TcpSockets& found) {
  if (socket.inode != 0) {
    found.sockets.push_back(socket);
  } else if (socket.state == TcpState::Established ||
             socket.state == TcpState::CloseWait ||
             socket.state == TcpState::SynReceived) {
    found.not_accepted.push_back(socket);
  }
}

struct DiagRequest {
  nlmsghdr header{.nlmsg_len = sizeof(DiagRequest),
                  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                  .nlmsg_flags = NLM_F_REQUEST,
                  .nlmsg_seq = 0,
                  .nlmsg_pid = 0};
  inet_diag_req_v2 body{};
};

// The kernel's sockets between these two; else the listeners at the first.
Result<std::vector<TcpSocket>> ask_for_one(const SocketAddress& local,
                                           const SocketAddress& remote) {
  const Fd diag = TRY(open_netlink(::getpid(), NETLINK_SOCK_DIAG));
  DiagRequest request;
  request.body.sdiag_family =
      local.is_v4() && remote.is_v4() ? AF_INET : AF_INET6;
  request.body.sdiag_protocol = IPPROTO_TCP;
  inet_diag_sockid& id = request.body.id;
  id.idiag_sport = htons(local.port);
  id.idiag_dport = htons(remote.port);
  put_address(local, id.idiag_src);
  put_address(remote, id.idiag_dst);
  std::ranges::fill(id.idiag_cookie, INET_DIAG_NOCOOKIE);
  TcpSockets found;
  TRY(ask_netlink(diag.get(), std::as_bytes(std::span(&request, 1)),
                  Deadline::in(kOneAnswer),
                  [&](std::span<const std::byte> datagram) -> Result<bool> {
                    TRY(parse_diag(datagram, found));
                    return true;
                  }));
  return std::move(found.sockets);
}

Status dump_family(int diag,
                   std::uint8_t family,
                   int protocol,
                   Deadline deadline,
                   TcpSockets& found) {
  DiagRequest request;
  request.header.nlmsg_flags |= NLM_F_DUMP;
  request.body.sdiag_family = family;
  request.body.sdiag_protocol = static_cast<std::uint8_t>(protocol);
  request.body.idiag_ext = 1U << (INET_DIAG_INFO - 1);
  request.body.idiag_states = kStates;
  return ask_netlink(diag, std::as_bytes(std::span(&request, 1)), deadline,
                     [&](std::span<const std::byte> datagram) -> Result<bool> {
                       const bool last = TRY(parse_diag(datagram, found));
                       found.complete =
                           found.sockets.size() + found.not_accepted.size() <=
                           kMostSockets;
                       return last || !found.complete;
                     });
}

TcpSocket socket_of(const inet_diag_msg& message,
                    std::span<const std::byte> body) {
  TcpSocket socket{
      .inode = message.idiag_inode,
      .user = message.idiag_uid,
      .local = address_of(message.idiag_family, message.id.idiag_src,
                          message.id.idiag_sport),
      .remote = address_of(message.idiag_family, message.id.idiag_dst,
                           message.id.idiag_dport),
      .state = static_cast<TcpState>(message.idiag_state),
      .unread = message.idiag_rqueue,
      .unacknowledged = message.idiag_wqueue,
      .progress = {},
      .timer = static_cast<TcpTimer>(message.idiag_timer),
      .timer_due = std::chrono::milliseconds(message.idiag_expires)};
  each_attribute(body, sizeof message,
                 [&](std::uint16_t type, std::span<const std::byte> info) {
                   if (type == INET_DIAG_INFO) {
                     const TcpSocket told = parse_tcp_info(info);
                     socket.progress = told.progress;
                     socket.retransmits = told.retransmits;
                   }
                 });
  return socket;
}

// A kernel's tcp_info may be shorter or longer than ours.
std::optional<TcpProgress> progress_of(std::span<const std::byte> info) {
  const auto number = [&](std::size_t at) {
    return value_at<std::uint32_t>(info, at);
  };
  const auto byte = [&](std::size_t at) {
    return value_at<std::uint8_t>(info, at).value_or(0);
  };
  const auto sent = number(offsetof(tcp_info, tcpi_last_data_sent));
  const auto received = number(offsetof(tcp_info, tcpi_last_data_recv));
  const auto answered = number(offsetof(tcp_info, tcpi_last_ack_recv));
  if (!sent || !received || !answered) {
    return std::nullopt;
  }
  return TcpProgress{
      .last_sent = std::chrono::milliseconds(*sent),
      .last_received = std::chrono::milliseconds(*received),
      .last_answered = std::chrono::milliseconds(*answered),
      .total_retransmits =
          number(offsetof(tcp_info, tcpi_total_retrans)).value_or(0),
      .acknowledged =
          value_at<std::uint64_t>(info, offsetof(tcp_info, tcpi_bytes_acked)),
      .received = value_at<std::uint64_t>(
          info, offsetof(tcp_info, tcpi_bytes_received)),
      .unsent = number(offsetof(tcp_info, tcpi_notsent_bytes)),
      .rto = std::chrono::microseconds(
          number(offsetof(tcp_info, tcpi_rto)).value_or(0)),
      .rtt = std::chrono::microseconds(
          number(offsetof(tcp_info, tcpi_rtt)).value_or(0)),
      .congestion_window =
          number(offsetof(tcp_info, tcpi_snd_cwnd)).value_or(0),
      .unacknowledged_segments =
          number(offsetof(tcp_info, tcpi_unacked)).value_or(0),
      .lost = number(offsetof(tcp_info, tcpi_lost)).value_or(0),
      .backoff = byte(offsetof(tcp_info, tcpi_backoff)),
      .probes = byte(offsetof(tcp_info, tcpi_probes)),
      .peer_window = number(offsetof(tcp_info, tcpi_snd_wnd))};
}

SocketAddress address_of(std::uint8_t family,
                         const __be32 (&words)[4],
                         __be16 port) {
  if (family == AF_INET) {
    std::array<std::uint8_t, 4> bytes{};
    std::memcpy(bytes.data(), &words[0], bytes.size());
    return SocketAddress::v4(bytes, ntohs(port));
  }
  SocketAddress address{.port = ntohs(port)};
  std::memcpy(address.bytes.data(), &words[0], address.bytes.size());
  return address;
}

// As address_of() has it.
void put_address(const SocketAddress& address, __be32 (&words)[4]) {
  constexpr std::size_t kSize = 4;
  const auto bytes = std::span(address.bytes);
  const auto wanted = address.is_v4() ? bytes.last(kSize) : bytes;
  std::memcpy(&words[0], wanted.data(), wanted.size());
}

// "0100007F:7345": words of four bytes, each as this machine has it.
std::optional<SocketAddress> parse_address(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() != 2 || (parts[0].size() != 8 && parts[0].size() != 32)) {
    return std::nullopt;
  }
  const auto port = parse_number<std::uint16_t>(parts[1], 16);
  __be32 words[4] = {};
  for (std::size_t i = 0; i < parts[0].size() / 8; ++i) {
    const auto word =
        parse_number<std::uint32_t>(parts[0].substr(i * 8, 8), 16);
    if (!word) {
      return std::nullopt;
    }
    words[i] = *word;
  }
  if (!port) {
    return std::nullopt;
  }
  return address_of(parts[0].size() == 8 ? AF_INET : AF_INET6, words,
                    htons(*port));
}

}  // namespace
}  // namespace hangdbg
