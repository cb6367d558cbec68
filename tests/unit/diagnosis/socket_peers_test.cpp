// The owner of the other end of real sockets of this process.
#include "diagnosis/snapshot/socket_peers.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

#include "base/fd.h"

namespace hangdbg {
namespace {

std::uint64_t inode_of(const Fd& socket) {
  struct stat seen {};
  EXPECT_EQ(::fstat(socket.get(), &seen), 0);
  return seen.st_ino;
}

bool has(const SocketPeer& peer, const Fd& socket) {
  return std::ranges::any_of(peer.holders, [&](const SocketFd& one) {
    return one.pid == ::getpid() && one.fd == socket.get();
  });
}

SocketTables tables() {
  return SocketTables(Deadline::in(std::chrono::seconds(10)));
}

// One that listens on an address of the kernel's choice, and one that connects
// to it.
struct Sockets {
  Fd listener, client;
  sockaddr_storage address{};
  socklen_t size = sizeof(sockaddr_storage);

  Sockets(int family, int room) {
    listener = make(family);
    client = make(family);
    if (family == AF_INET) {
      sockaddr_in any{};
      any.sin_family = AF_INET;
      any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      bind(&any, sizeof any);
    } else {
      const sa_family_t any = AF_UNIX;
      bind(&any, sizeof any);
    }
    EXPECT_EQ(::listen(listener.get(), room), 0);
    EXPECT_EQ(::getsockname(listener.get(), as_address(), &size), 0);
    EXPECT_TRUE(connect(client));
  }

  static Fd make(int family, int flags = 0) {
    return Fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  }
  sockaddr* as_address() { return reinterpret_cast<sockaddr*>(&address); }
  void bind(const void* any, std::size_t length) {
    EXPECT_EQ(::bind(listener.get(), static_cast<const sockaddr*>(any),
                     static_cast<socklen_t>(length)),
              0);
  }
  bool connect(const Fd& socket) {
    return ::connect(socket.get(), as_address(), size) == 0;
  }
  Fd accept() { return Fd(::accept4(listener.get(), nullptr, nullptr, 0)); }
};

TEST(SocketPeers, OfTcp) {
  Sockets both(AF_INET, 1);
  ASSERT_EQ(::send(both.client.get(), "1234567", 7, 0), 7);
  auto before = tables();
  auto ours = before.tcp(::getpid(), inode_of(both.client));
  ASSERT_TRUE(ours);
  auto peer = before.tcp_peer(::getpid(), *ours);
  ASSERT_TRUE(peer);
  EXPECT_FALSE(peer->accepted);
  EXPECT_TRUE(has(*peer, both.listener));
  EXPECT_EQ(peer->unread, 7U);
  EXPECT_EQ(peer->waiting, 1U);
  EXPECT_FALSE(peer->is_full());

  const Fd server = both.accept();
  auto after = tables();
  peer = after.tcp_peer(::getpid(), *ours);
  ASSERT_TRUE(peer);
  EXPECT_TRUE(peer->accepted);
  EXPECT_TRUE(has(*peer, server));
  EXPECT_FALSE(has(*peer, both.client));
  EXPECT_EQ(peer->unread, 7U);
  EXPECT_EQ(peer->user, ::geteuid());
}

TEST(SocketPeers, OfTcpWithoutRoom) {
  Sockets both(AF_INET, 0);
  const Fd late = Sockets::make(AF_INET, SOCK_NONBLOCK);
  EXPECT_FALSE(both.connect(late));
  auto all = tables();
  const auto ours = all.tcp(::getpid(), inode_of(late));
  ASSERT_TRUE(ours);
  EXPECT_EQ(ours->state, TcpState::SynSent);
  const auto peer = all.tcp_peer(::getpid(), *ours);
  ASSERT_TRUE(peer);
  EXPECT_TRUE(peer->is_full());
  EXPECT_FALSE(peer->accepted);
  EXPECT_TRUE(has(*peer, both.listener));
}

TEST(SocketPeers, OfTcpElsewhere) {
  Sockets both(AF_INET, 1);
  auto all = tables();
  auto ours = all.tcp(::getpid(), inode_of(both.client));
  ASSERT_TRUE(ours);
  ours->remote = SocketAddress::v4({192, 0, 2, 1}, ours->remote.port);
  EXPECT_FALSE(all.tcp_peer(::getpid(), *ours));
}

TEST(SocketPeers, OfUnixSockets) {
  Sockets both(AF_UNIX, 1);
  auto before = tables();
  auto peer = before.unix_peer(::getpid(), inode_of(both.client));
  if (!peer) {
    GTEST_SKIP() << "no unix_diag here";
  }
  EXPECT_FALSE(peer->accepted);
  EXPECT_TRUE(has(*peer, both.listener));
  EXPECT_EQ(peer->waiting, 1U);
  EXPECT_TRUE(before.unix_server(::getpid(), peer->name));
  EXPECT_FALSE(before.unix_server(::getpid(), "@no such name"));
  EXPECT_FALSE(before.unix_peer(::getpid(), inode_of(both.listener)));

  const Fd server = both.accept();
  auto after = tables();
  peer = after.unix_peer(::getpid(), inode_of(both.client));
  ASSERT_TRUE(peer);
  EXPECT_TRUE(peer->accepted);
  EXPECT_TRUE(has(*peer, server));
}

TEST(SocketPeers, OfUdp) {
  const Fd server(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const Fd client(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof any;
  auto* const address = reinterpret_cast<sockaddr*>(&any);
  ASSERT_EQ(::bind(server.get(), address, size), 0);
  ASSERT_EQ(::getsockname(server.get(), address, &size), 0);
  ASSERT_EQ(::connect(client.get(), address, size), 0);
  auto all = tables();
  const auto ours = all.udp(::getpid(), inode_of(client));
  ASSERT_TRUE(ours);
  const auto peer = all.udp_peer(::getpid(), *ours);
  ASSERT_TRUE(peer);
  EXPECT_TRUE(has(*peer, server));
}

}  // namespace
}  // namespace hangdbg
