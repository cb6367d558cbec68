// The kernel's view of sockets: its texts and datagrams as a test made them,
// and real connections of this process and of another network namespace.
#include "tracee/net/tcp_sockets.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "tests/unit/support/processes.h"
#include "tracee/net/connections.h"

namespace hangdbg {
namespace {

using std::chrono::milliseconds;

// /proc/net/tcp of a machine, one line each: a listener, a connection with
// bytes in both queues, and one in TIME_WAIT.
constexpr const char* kTcp =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when "
    "retrnsmt"
    "   uid  timeout inode\n"
    "   0: 0100007F:733C 00000000:0000 0A 00000000:00000000 00:00000000 "
    "00000000"
    "     0        0 41 1 0000000000000000 100 0 0 10 0\n"
    "   1: 0100007F:733C 0200007F:9C40 01 00000060:0000001A 01:00000014 "
    "00000003"
    "  1000        0 42 2 0000000000000000 20 4 30 10 -1\n"
    "   2: 0100007F:733C 0200007F:9C41 06 00000000:00000000 03:00000014 "
    "00000000"
    "     0        0 0 3 0000000000000000\n";
constexpr const char* kTcp6 =
    "   0: 0000000000000000FFFF00000100007F:733C "
    "00000000000000000000000001000000:9C40 08 00000000:00000000 00:00000000 "
    "00000000     0        0 77 1 0000000000000000 20 4 30 10 -1\n";

TEST(TcpSockets, OfProc) {
  const auto sockets = parse_proc_tcp(kTcp).sockets;
  ASSERT_EQ(sockets.size(), 2U);
  EXPECT_EQ(sockets[0].state, TcpState::Listen);
  EXPECT_EQ(sockets[0].local.text(), "127.0.0.1:29500");
  const TcpSocket& socket = sockets[1];
  EXPECT_EQ(socket.inode, 42U);
  EXPECT_EQ(socket.user, 1000U);
  EXPECT_EQ(socket.remote.text(), "127.0.0.2:40000");
  EXPECT_EQ(tcp_state_name(socket.state), "ESTABLISHED");
  EXPECT_EQ(socket.unacknowledged, 0x60U);
  EXPECT_EQ(socket.unread, 0x1aU);
  EXPECT_EQ(socket.retransmits, 3U);
  EXPECT_FALSE(socket.progress);
}

TEST(TcpSockets, OfProcWithIPv6) {
  const auto sockets = parse_proc_tcp(kTcp6).sockets;
  ASSERT_EQ(sockets.size(), 1U);
  // An IPv4 address as in IPv6 is the same address.
  EXPECT_EQ(sockets[0].local, SocketAddress::v4({127, 0, 0, 1}, 29500));
  EXPECT_TRUE(sockets[0].local.is_loopback());
  EXPECT_EQ(sockets[0].remote.text(), "[::1]:40000");
  EXPECT_TRUE(sockets[0].remote.is_loopback());
  EXPECT_EQ(sockets[0].state, TcpState::CloseWait);
}

// Connections that are not accepted yet have no inode; nor has a closed one.
TEST(TcpSockets, OfProcThatNobodyHasAccepted) {
  const auto all = parse_proc_tcp(
      "0: 0100007F:733C 0200007F:9C40 01 00000000:0000004E 00:00000000 0 0 0 "
      "0\n"
      "1: 0100007F:733C 0200007F:9C41 05 00000000:00000000 00:00000000 0 0 0 "
      "0\n");
  EXPECT_TRUE(all.sockets.empty());
  ASSERT_EQ(all.not_accepted.size(), 1U);
  EXPECT_EQ(all.not_accepted[0].remote.text(), "127.0.0.2:40000");
  EXPECT_EQ(all.not_accepted[0].unread, 78U);
}

TEST(TcpSockets, OfProcThatIsNone) {
  for (const char* text :
       {"", "\n\n", "0: 1 2 3 4 5 6 7 8 9 10\n",
        "0: 0100007F:733C 0200007F:9C40 01 60:1A 01:14 3 0 0 -1 2\n",
        "0: 0100007F:733C 0200007F:9C40 XX 60:1A 01:14 3 0 0 42 2\n",
        "0: 0100007F:733C 0200007F 01 60:1A 01:14 3 0 0 42 2\n",
        "0: 0100007F:733C5 0200007F:9C40 01 60:1A 01:14 3 0 0 42 2\n",
        "0: 0100007G:733C 0200007F:9C40 01 60:1A 01:14 3 0 0 42 2\n",
        "0: 0100007F:733C 0200007F:9C40 01 60 01:14 3 0 0 42 2\n"}) {
    EXPECT_TRUE(parse_proc_tcp(text).sockets.empty()) << text;
  }
}

// ---- datagrams of sock_diag

struct Datagram {
  std::vector<std::byte> bytes;

  void add(std::uint16_t type, std::span<const std::byte> body) {
    nlmsghdr header{};
    header.nlmsg_len = static_cast<std::uint32_t>(NLMSG_HDRLEN + body.size());
    header.nlmsg_type = type;
    append(std::as_bytes(std::span(&header, 1)));
    append(body);
  }
  void append(std::span<const std::byte> more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
    bytes.resize(NLMSG_ALIGN(bytes.size()));
  }
};

// With that much of TCP_INFO.
std::vector<std::byte> message_with(std::size_t info_size) {
  inet_diag_msg message{};
  message.idiag_family = AF_INET;
  message.idiag_state = 1;
  message.idiag_inode = 42;
  message.idiag_rqueue = 96;
  message.idiag_wqueue = 7;
  message.id.idiag_sport = htons(29500);
  message.id.idiag_dport = htons(40000);
  message.id.idiag_src[0] = htonl(0x0a000001);
  message.id.idiag_dst[0] = htonl(0x0a000002);
  tcp_info info{};
  info.tcpi_retransmits = 5;
  info.tcpi_last_data_sent = 1000;
  info.tcpi_last_data_recv = 42000;
  info.tcpi_last_ack_recv = 900;
  info.tcpi_total_retrans = 17;
  info.tcpi_bytes_acked = 1ULL << 40;
  info.tcpi_notsent_bytes = 3;
  Datagram datagram;
  datagram.append(std::as_bytes(std::span(&message, 1)));
  rtattr header{
      .rta_len = static_cast<unsigned short>(RTA_LENGTH(0) + info_size),
      .rta_type = INET_DIAG_INFO};
  datagram.append(std::as_bytes(std::span(&header, 1)));
  datagram.append(std::as_bytes(std::span(&info, 1)).first(info_size));
  return datagram.bytes;
}

TEST(TcpSockets, OfDiag) {
  Datagram datagram;
  datagram.add(20, message_with(sizeof(tcp_info)));
  datagram.add(20, message_with(sizeof(tcp_info)));
  TcpSockets all;
  const auto& sockets = all.sockets;
  const auto last = parse_diag(datagram.bytes, all);
  ASSERT_TRUE(last) << last.error().text();
  EXPECT_FALSE(*last);
  ASSERT_EQ(sockets.size(), 2U);
  const TcpSocket& socket = sockets[1];
  EXPECT_EQ(socket.local.text(), "10.0.0.1:29500");
  EXPECT_EQ(socket.remote.text(), "10.0.0.2:40000");
  EXPECT_EQ(socket.unread, 96U);
  EXPECT_EQ(socket.unacknowledged, 7U);
  ASSERT_TRUE(socket.progress);
  EXPECT_EQ(socket.progress->last_received, milliseconds(42000));
  EXPECT_EQ(socket.progress->last_sent, milliseconds(1000));
  EXPECT_EQ(socket.progress->last_answered, milliseconds(900));
  EXPECT_EQ(socket.retransmits, 5U);
  EXPECT_EQ(socket.progress->total_retransmits, 17U);
  EXPECT_EQ(socket.progress->acknowledged, 1ULL << 40);
  EXPECT_EQ(socket.progress->unsent, 3U);
}

TEST(TcpSockets, OfDiagOfAnOldKernel) {
  Datagram datagram;
  datagram.add(20, message_with(offsetof(tcp_info, tcpi_bytes_acked)));
  datagram.add(20, message_with(4));
  TcpSockets all;
  const auto& sockets = all.sockets;
  ASSERT_TRUE(parse_diag(datagram.bytes, all));
  ASSERT_EQ(sockets.size(), 2U);
  ASSERT_TRUE(sockets[0].progress);
  EXPECT_EQ(sockets[0].progress->last_received, milliseconds(42000));
  EXPECT_FALSE(sockets[0].progress->acknowledged);
  EXPECT_FALSE(sockets[1].progress);
}

TEST(TcpSockets, OfDiagAtItsEnd) {
  Datagram datagram;
  datagram.add(20, message_with(sizeof(tcp_info)));
  const int none = 0;
  datagram.add(NLMSG_DONE, std::as_bytes(std::span(&none, 1)));
  TcpSockets all;
  const auto& sockets = all.sockets;
  EXPECT_TRUE(parse_diag(datagram.bytes, all).value_or(false));
  EXPECT_EQ(sockets.size(), 1U);
}

TEST(TcpSockets, OfDiagThatIsRefused) {
  Datagram datagram;
  const int why = -EPERM;
  datagram.add(NLMSG_ERROR, std::as_bytes(std::span(&why, 1)));
  TcpSockets all;
  const auto refused = parse_diag(datagram.bytes, all);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().errno_value, EPERM);
}

// Cut anywhere, or with any byte changed: an answer or an error.
TEST(TcpSockets, OfDiagThatIsBroken) {
  Datagram whole;
  whole.add(20, message_with(sizeof(tcp_info)));
  for (std::size_t size = 0; size < whole.bytes.size(); ++size) {
    const std::vector<std::byte> cut(
        whole.bytes.begin(),
        whole.bytes.begin() + static_cast<std::ptrdiff_t>(size));
    TcpSockets all;
    const auto& sockets = all.sockets;
    (void)parse_diag(cut, all);
    EXPECT_TRUE(sockets.empty()) << size;
  }
  for (std::size_t at = 0; at < whole.bytes.size(); ++at) {
    for (const int value : {0, 1, 3, 0x7f, 0xff}) {
      auto bytes = whole.bytes;
      bytes[at] = static_cast<std::byte>(value);
      TcpSockets all;
      const auto& sockets = all.sockets;
      (void)parse_diag(bytes, all);
      EXPECT_LE(sockets.size(), 1U);
    }
  }
}

// ---- real ones

struct Connected {
  Fd listener, client, server;

  Connected() {
    listener = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    client = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener.get(), any, size) == 0 &&
        ::listen(listener.get(), 1) == 0 &&
        ::getsockname(listener.get(), any, &size) == 0 &&
        ::connect(client.get(), any, size) == 0) {
      server = Fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    }
  }
};

const Connection* find(const Connections& all, const Fd& fd) {
  const auto found =
      std::ranges::find(all.connections, fd.get(), &Connection::fd);
  return found == all.connections.end() ? nullptr : &*found;
}

SocketAddress local_of(const Fd& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  EXPECT_EQ(
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size),
      0);
  std::array<std::uint8_t, 4> bytes{};
  std::memcpy(bytes.data(), &address.sin_addr, bytes.size());
  return SocketAddress::v4(bytes, ntohs(address.sin_port));
}

TEST(TcpSockets, ThatWaitToBeAccepted) {
  const Connected both;
  const Fd late(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::getsockname(both.listener.get(), any, &size), 0);
  ASSERT_EQ(::connect(late.get(), any, size), 0);
  const auto all =
      read_tcp_sockets(::getpid(), Deadline::in(std::chrono::seconds(10)));
  ASSERT_TRUE(all) << all.error().text();
  EXPECT_EQ(
      std::ranges::count(all->not_accepted, local_of(late), &TcpSocket::remote),
      1);
  EXPECT_EQ(std::ranges::count(all->not_accepted, local_of(both.client),
                               &TcpSocket::remote),
            0);
}

TEST(TcpPeer, IsFoundWhileItIsOpen) {
  Connected both;
  ASSERT_TRUE(both.server);
  const SocketAddress ours = local_of(both.server);
  const SocketAddress peers = local_of(both.client);
  auto peer = find_tcp_peer(ours, peers);
  ASSERT_TRUE(peer) << peer.error().text();
  ASSERT_TRUE(*peer);
  EXPECT_EQ((*peer)->user, ::geteuid());
  EXPECT_EQ((*peer)->local, peers);
  both.client.reset();
  peer = find_tcp_peer(ours, peers);
  ASSERT_TRUE(peer) << peer.error().text();
  EXPECT_FALSE(*peer);
  // Also where nothing is left of either end but the listener.
  both.server.reset();
  EXPECT_FALSE(find_tcp_peer(ours, peers).value().has_value());
}

// There is no peer; the kernel finds the listener at that address.
TEST(TcpPeer, IsNotWhoListens) {
  const Connected both;
  const SocketAddress listener = local_of(both.listener);
  const SocketAddress nobody = SocketAddress::v4({127, 0, 0, 1}, 1);
  EXPECT_FALSE(find_tcp_peer(nobody, listener).value().has_value());
}

TEST(TcpPeer, OfIPv6) {
  const Fd listener(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const Fd client(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (!listener || ::bind(listener.get(), any, size) != 0) {
    GTEST_SKIP() << "no IPv6 here";
  }
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  ASSERT_EQ(::getsockname(listener.get(), any, &size), 0);
  ASSERT_EQ(::connect(client.get(), any, size), 0);
  SocketAddress ours{.port = ntohs(address.sin6_port)};
  std::memcpy(ours.bytes.data(), &in6addr_loopback, ours.bytes.size());
  ASSERT_EQ(::getsockname(client.get(), any, &size), 0);
  SocketAddress peers = ours;
  peers.port = ntohs(address.sin6_port);
  const auto peer = find_tcp_peer(ours, peers);
  ASSERT_TRUE(peer) << peer.error().text();
  ASSERT_TRUE(*peer);
  EXPECT_EQ((*peer)->user, ::geteuid());
}

TEST(Connections, OfThisProcess) {
  const Connected both;
  ASSERT_TRUE(both.server);
  ASSERT_EQ(::send(both.client.get(), "hello", 5, 0), 5);
  // The same socket by a higher number is the same.
  const Fd again(::fcntl(both.client.get(), F_DUPFD_CLOEXEC, 500));
  auto all = read_connections({::getpid()}, patience());
  const auto& mine = all.at(::getpid());
  ASSERT_TRUE(mine) << mine.error().text();
  EXPECT_FALSE(mine->why_no_progress);
  const auto* const client = find(*mine, both.client);
  const auto* const server = find(*mine, both.server);
  const auto* const listener = find(*mine, both.listener);
  ASSERT_NE(client, nullptr);
  ASSERT_NE(server, nullptr);
  ASSERT_NE(listener, nullptr);
  EXPECT_EQ(find(*mine, again), nullptr);
  EXPECT_EQ(listener->socket.state, TcpState::Listen);
  EXPECT_EQ(client->socket.local, server->socket.remote);
  EXPECT_EQ(client->socket.remote, server->socket.local);
  EXPECT_EQ(server->socket.unread, 5U);
  EXPECT_EQ(client->socket.unread, 0U);
  ASSERT_TRUE(server->socket.progress);
  EXPECT_EQ(server->socket.progress->received, 5U);
  EXPECT_LT(server->socket.progress->last_received, milliseconds(10000));
}

TEST(Connections, WithoutTheKernelsList) {
  const Connected both;
  ASSERT_EQ(::send(both.client.get(), "hello", 5, 0), 5);
  // Read from /proc where sock_diag is not available.
  const auto inodes = socket_descriptors(::getpid());
  ASSERT_TRUE(inodes);
  std::string text;
  const Fd file(::open("/proc/self/net/tcp", O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> piece{};
  for (ssize_t size = 0;
       (size = ::read(file.get(), piece.data(), piece.size())) > 0;) {
    text.append(piece.data(), static_cast<std::size_t>(size));
  }
  const auto sockets = parse_proc_tcp(text).sockets;
  const auto server =
      std::ranges::find_if(sockets, [&](const TcpSocket& socket) {
        const auto found = inodes->find(socket.inode);
        return found != inodes->end() && found->second == both.server.get();
      });
  ASSERT_NE(server, sockets.end());
  EXPECT_EQ(server->unread, 5U);
}

TEST(Connections, OfAnotherNetwork) {
  Pipe ready;
  const Child child([&] {
    if (::unshare(CLONE_NEWNET) != 0) {
      send(ready.write, 'n');
      ::pause();
    }
    // Its loopback is down: nothing answers, and it listens all the same.
    const Fd listener(::socket(AF_INET, SOCK_STREAM, 0));
    (void)::listen(listener.get(), 3);
    send(ready.write, 'y');
    ::pause();
  });
  const auto may = receive<char>(ready.read);
  ASSERT_TRUE(may);
  if (*may == 'n') {
    GTEST_SKIP() << "no right to make a network namespace here";
  }
  auto all = read_connections({child.pid(), ::getpid()}, patience());
  const auto& theirs = all.at(child.pid());
  ASSERT_TRUE(theirs) << theirs.error().text();
  EXPECT_NE(theirs->network, all.at(::getpid())->network);
  EXPECT_FALSE(theirs->why_no_progress);
  ASSERT_EQ(theirs->connections.size(), 1U);
  EXPECT_EQ(theirs->connections[0].socket.state, TcpState::Listen);
  // This process is still in its own namespace.
  EXPECT_EQ(network_namespace(::getpid()).value(), all.at(::getpid())->network);
}

TEST(Connections, OfNobody) {
  const int pid = dead_pid();
  auto all = read_connections({pid}, patience());
  ASSERT_FALSE(all.at(pid));
  EXPECT_EQ(all.at(pid).error().id, ErrorId::NoSuchProcess);
}

// A thousand connections are found in one query, and quickly.
TEST(Connections, OfMany) {
  std::vector<Connected> many(400);
  if (!many.back().server) {
    GTEST_SKIP() << "not as many descriptors here";
  }
  auto all = read_connections({::getpid()}, patience());
  const auto& mine = all.at(::getpid());
  ASSERT_TRUE(mine);
  EXPECT_TRUE(mine->complete);
  for (const Connected& one : many) {
    EXPECT_NE(find(*mine, one.client), nullptr);
    EXPECT_NE(find(*mine, one.server), nullptr);
  }
}

}  // namespace
}  // namespace hangdbg
