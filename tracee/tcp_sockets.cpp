#include "tracee/tcp_sockets.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "base/fd.h"
#include "base/start_threads.h"
#include "base/text.h"
#include "tracee/proc_file.h"

namespace hangdbg {
namespace {

// A machine with more has other troubles.
constexpr std::size_t kMostSockets = 200'000;
constexpr std::size_t kMostDescriptors = 200'000;
constexpr std::size_t kDatagram = 64 * 1024;
// All but those that wait for their number to be forgotten: nobody has them.
constexpr std::uint32_t kStates =
    0xfff & ~(1U << static_cast<unsigned>(TcpState::TimeWait));

Result<Fd> open_diag(int pid);
Result<Fd> diag_socket();
Status dump_family(int diag,
                   std::uint8_t family,
                   Deadline deadline,
                   TcpSockets& found);
TcpSocket socket_of(const inet_diag_msg& message,
                    std::span<const std::byte> attributes);
std::optional<TcpProgress> progress_of(std::span<const std::byte> info);
SocketAddress address_of(std::uint8_t family,
                         const __be32 (&words)[4],
                         __be16 port);
std::optional<SocketAddress> parse_address(std::string_view text);

template <class T>
std::optional<T> value_at(std::span<const std::byte> bytes, std::size_t at) {
  if (at + sizeof(T) > bytes.size()) {
    return std::nullopt;
  }
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

}  // namespace

Result<TcpSockets> read_tcp_sockets(int pid, Deadline deadline) {
  TcpSockets found;
  const auto by_diag = [&]() -> Status {
    const Fd diag = TRY(open_diag(pid));
    TRY(dump_family(diag.get(), AF_INET, deadline, found));
    return dump_family(diag.get(), AF_INET6, deadline, found);
  };
  const Status status = by_diag();
  if (status) {
    return found;
  }
  found = {.why_no_progress = status.error()};
  for (const char* const name : {"net/tcp", "net/tcp6"}) {
    auto text = read_proc_file(pid, name);
    if (!text && name == std::string_view("net/tcp")) {
      return std::unexpected(std::move(text).error());
    }
    auto sockets =
        parse_proc_tcp(text ? *text : "");  // there may be no IPv6 here
    std::ranges::move(sockets, std::back_inserter(found.sockets));
  }
  if (found.sockets.size() > kMostSockets) {
    found.sockets.resize(kMostSockets);
    found.complete = false;
  }
  return found;
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
  const std::string path = fmt::format("/proc/{}/fd", pid);
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()),
                                                   ::closedir);
  if (!folder) {
    return fail_errno(fmt::format("cannot read {}", path),
                      errno == ENOENT   ? ErrorId::NoSuchProcess
                      : errno == EACCES ? ErrorId::NotPermitted
                                        : ErrorId::System);
  }
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

std::vector<TcpSocket> parse_proc_tcp(std::string_view text) {
  std::vector<TcpSocket> sockets;
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
    // Another timer than 1 counts something else.
    const auto retransmits = words[5].starts_with("01:")
                                 ? parse_number<std::uint32_t>(words[6], 16)
                                 : std::nullopt;
    const auto inode = parse_number<std::uint64_t>(words[9]);
    if (!local || !remote || !state || queues.size() != 2 || !inode ||
        *inode == 0) {
      continue;  // the title, or one that nobody has
    }
    const auto sent = parse_number<std::uint32_t>(queues[0], 16);
    const auto unread = parse_number<std::uint32_t>(queues[1], 16);
    if (!sent || !unread) {
      continue;
    }
    sockets.push_back({.inode = *inode,
                       .local = *local,
                       .remote = *remote,
                       .state = static_cast<TcpState>(*state),
                       .unread = *unread,
                       .unacknowledged = *sent,
                       .retransmits = retransmits.value_or(0),
                       .progress = {}});
  }
  return sockets;
}

Result<bool> parse_diag(std::span<const std::byte> datagram,
                        std::vector<TcpSocket>& sockets) {
  while (datagram.size() >= sizeof(nlmsghdr)) {
    const auto header = *value_at<nlmsghdr>(datagram, 0);
    if (header.nlmsg_len < sizeof(nlmsghdr) ||
        header.nlmsg_len > datagram.size()) {
      return fail(ErrorId::System, "the kernel's list of sockets is cut off");
    }
    const auto body =
        datagram.subspan(NLMSG_HDRLEN, header.nlmsg_len - NLMSG_HDRLEN);
    if (header.nlmsg_type == NLMSG_DONE) {
      return true;
    }
    if (header.nlmsg_type == NLMSG_ERROR) {
      const auto code = value_at<int>(body, 0).value_or(-EPROTO);
      errno = -code;
      return fail_errno("the kernel does not list sockets");
    }
    if (const auto message = value_at<inet_diag_msg>(body, 0)) {
      const auto socket = socket_of(
          *message, body.subspan(std::min<std::size_t>(
                        NLMSG_ALIGN(sizeof(inet_diag_msg)), body.size())));
      if (socket.inode != 0) {
        sockets.push_back(socket);
      }
    }
    datagram = datagram.subspan(
        std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), datagram.size()));
  }
  return false;
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

// A socket stays in the namespace that it was made in: a thread of ours that
// goes there makes it, and ends.
Result<Fd> open_diag(int pid) {
  const auto ours = read_proc_link(::getpid(), "ns/net");
  if (ours && *ours == TRY(read_proc_link(pid, "ns/net"))) {
    return diag_socket();
  }
  const std::string path = fmt::format("/proc/{}/ns/net", pid);
  const Fd space(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!space) {
    return fail_errno(fmt::format("cannot open {}", path));
  }
  Result<Fd> made = fail(ErrorId::System, "no thread of ours can be had");
  for (std::thread& thread : start_threads(1, [&] {
         if (::setns(space.get(), CLONE_NEWNET) == 0) {
           made = diag_socket();
         } else {
           made = fail_errno(fmt::format("cannot enter {}", path));
         }
       })) {
    thread.join();
  }
  return made;
}

Result<Fd> diag_socket() {
  Fd diag(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  return diag ? Result<Fd>(std::move(diag))
              : fail_errno("the kernel lists no sockets");
}

Status dump_family(int diag,
                   std::uint8_t family,
                   Deadline deadline,
                   TcpSockets& found) {
  struct {
    nlmsghdr header;
    inet_diag_req_v2 body;
  } request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.body.sdiag_family = family;
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_ext = 1U << (INET_DIAG_INFO - 1);
  request.body.idiag_states = kStates;
  if (::send(diag, &request, sizeof request, 0) < 0) {
    return fail_errno("the kernel lists no sockets");
  }
  std::vector<std::byte> datagram(kDatagram);
  for (;;) {
    pollfd ready{.fd = diag, .events = POLLIN, .revents = 0};
    const int count = ::poll(&ready, 1, deadline.left_ms());
    if (count == 0) {
      return fail(ErrorId::TimedOut, "the list of sockets took too long");
    }
    const ssize_t size =
        count < 0 ? -1
                  : ::recv(diag, datagram.data(), datagram.size(), MSG_TRUNC);
    if (size < 0 && errno == EINTR) {
      continue;
    }
    if (size <= 0 || static_cast<std::size_t>(size) > datagram.size()) {
      return fail_errno("the kernel's list of sockets cannot be read");
    }
    const bool last = TRY(
        parse_diag(std::span(datagram).first(static_cast<std::size_t>(size)),
                   found.sockets));
    if (found.sockets.size() > kMostSockets) {
      found.complete = false;
      return {};
    }
    if (last) {
      return {};
    }
  }
}

TcpSocket socket_of(const inet_diag_msg& message,
                    std::span<const std::byte> attributes) {
  TcpSocket socket{
      .inode = message.idiag_inode,
      .local = address_of(message.idiag_family, message.id.idiag_src,
                          message.id.idiag_sport),
      .remote = address_of(message.idiag_family, message.id.idiag_dst,
                           message.id.idiag_dport),
      .state = static_cast<TcpState>(message.idiag_state),
      .unread = message.idiag_rqueue,
      .unacknowledged = message.idiag_wqueue,
      .progress = {}};
  while (const auto header = value_at<rtattr>(attributes, 0)) {
    if (header->rta_len < sizeof(rtattr) ||
        header->rta_len > attributes.size()) {
      break;
    }
    if (header->rta_type == INET_DIAG_INFO) {
      const auto info =
          attributes.subspan(RTA_LENGTH(0), header->rta_len - RTA_LENGTH(0));
      socket.progress = progress_of(info);
      socket.retransmits =
          value_at<std::uint8_t>(info, offsetof(tcp_info, tcpi_retransmits))
              .value_or(0);
    }
    attributes = attributes.subspan(
        std::min<std::size_t>(RTA_ALIGN(header->rta_len), attributes.size()));
  }
  return socket;
}

// A kernel's tcp_info may be shorter or longer than ours.
std::optional<TcpProgress> progress_of(std::span<const std::byte> info) {
  const auto number = [&](std::size_t at) {
    return value_at<std::uint32_t>(info, at);
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
      .unsent = number(offsetof(tcp_info, tcpi_notsent_bytes))};
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
