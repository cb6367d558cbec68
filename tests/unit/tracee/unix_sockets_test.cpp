// Sockets of AF_UNIX: the text of /proc/net/unix, and real ones of this
// process.
#include "tracee/net/unix_sockets.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.h"

namespace hangdbg {
namespace {

TEST(UnixSockets, OfProc) {
  const auto sockets = parse_proc_unix(
      "Num       RefCount Protocol Flags    Type St Inode Path\n"
      "0000000000000000: 00000002 00000000 00010000 0001 01 41 /run/a b\n"
      "0000000000000000: 00000003 00000000 00000000 0001 03 42\n"
      "0000000000000000: 00000002 00000000 00000000 0002 01 43 @name\n"
      "0000000000000000: cut off\n");
  ASSERT_EQ(sockets.size(), 3U);
  EXPECT_EQ(sockets[0].inode, 41U);
  EXPECT_TRUE(sockets[0].listens);
  EXPECT_EQ(sockets[0].name, "/run/a b");
  EXPECT_TRUE(sockets[1].connected);
  EXPECT_EQ(sockets[1].name, "");
  EXPECT_EQ(sockets[2].type, SOCK_DGRAM);
  EXPECT_EQ(sockets[2].name, "@name");
}

TEST(UnixSockets, APairKnowsItsOtherEnd) {
  int ends[2] = {};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const Fd ours(ends[0]), theirs(ends[1]);
  ASSERT_EQ(::write(theirs.get(), "12345", 5), 5);
  struct stat own {
  }, other{};
  ::fstat(ours.get(), &own);
  ::fstat(theirs.get(), &other);
  const auto all =
      read_unix_sockets(::getpid(), Deadline::in(std::chrono::seconds(10)));
  ASSERT_TRUE(all) << all.error().text();
  const auto found =
      std::ranges::find(all->sockets, own.st_ino, &UnixSocket::inode);
  ASSERT_NE(found, all->sockets.end());
  EXPECT_TRUE(found->connected);
  if (all->why_no_peers) {
    GTEST_SKIP() << all->why_no_peers->text();
  }
  EXPECT_EQ(found->peer, other.st_ino);
  EXPECT_EQ(found->unread, 5U);
}

TEST(UnixSockets, OneThatListensKnowsWhoWaits) {
  const Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const Fd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socklen_t size = sizeof(sa_family_t);  // the kernel chooses a name
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(listener.get(), any, size), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  size = sizeof address;
  ASSERT_EQ(::getsockname(listener.get(), any, &size), 0);
  ASSERT_EQ(::connect(client.get(), any, size), 0);
  struct stat own {
  }, its{};
  ::fstat(listener.get(), &own);
  ::fstat(client.get(), &its);
  const auto all =
      read_unix_sockets(::getpid(), Deadline::in(std::chrono::seconds(10)));
  ASSERT_TRUE(all) << all.error().text();
  if (all->why_no_peers) {
    GTEST_SKIP() << all->why_no_peers->text();
  }
  const auto found =
      std::ranges::find(all->sockets, own.st_ino, &UnixSocket::inode);
  ASSERT_NE(found, all->sockets.end());
  EXPECT_EQ(found->waiting, std::vector<std::uint64_t>{its.st_ino});
  EXPECT_EQ(found->unread, 1U);
  EXPECT_EQ(
      std::ranges::find(all->sockets, its.st_ino, &UnixSocket::inode)->peer,
      0U);
}

}  // namespace
}  // namespace hangdbg
