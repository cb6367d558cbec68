// A socket borrowed from a process: here from this one.
#include "tracee/net/borrowed_socket.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "base/fd.h"
#include "tracee/net/interfaces.h"

namespace hangdbg {
namespace {

std::size_t open_descriptors() {
  DIR* const folder = ::opendir("/proc/self/fd");
  std::size_t count = 0;
  while (::readdir(folder) != nullptr) {
    ++count;
  }
  ::closedir(folder);
  return count;
}

TEST(BorrowedSocket, OfOneThatListens) {
  const Fd socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                   sizeof address),
            0);
  ASSERT_EQ(::listen(socket.get(), 5), 0);
  const timeval time{3, 500'000};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  const auto before = open_descriptors();
  const auto seen = borrow_tcp_socket(::getpid(), socket.get());
  EXPECT_EQ(open_descriptors(), before);
  if (!seen) {
    GTEST_SKIP() << seen.error().text();
  }
  EXPECT_EQ(seen->tcp.state, TcpState::Listen);
  EXPECT_EQ(seen->tcp.local.host_text(), "127.0.0.1");
  EXPECT_EQ(seen->tcp.unread, 0U);
  EXPECT_EQ(seen->tcp.unacknowledged, 5U);  // the backlog
  EXPECT_FALSE(seen->options.keeps_alive);
  EXPECT_EQ(seen->options.receive_timeout, std::chrono::milliseconds(3500));
  EXPECT_FALSE(seen->options.send_timeout);
}

TEST(BorrowedSocket, OfWhatIsNone) {
  int ends[2] = {};
  ASSERT_EQ(::pipe(ends), 0);
  const Fd reader(ends[0]), writer(ends[1]);
  EXPECT_FALSE(borrow_tcp_socket(::getpid(), reader.get()));
  EXPECT_FALSE(borrow_tcp_socket(::getpid(), 1'000'000));
}

TEST(Interfaces, TheLoopbackHasItsAddress) {
  const auto all =
      read_interfaces(::getpid(), Deadline::in(std::chrono::seconds(10)));
  ASSERT_TRUE(all) << all.error().text();
  const Interface* const own =
      interface_of(*all, SocketAddress::v4({127, 0, 0, 9}, 80));
  if (own == nullptr) {
    GTEST_SKIP() << "no loopback interface is up here";
  }
  EXPECT_EQ(own->name, "lo");
  EXPECT_EQ(interface_of(*all, SocketAddress::v4({203, 0, 113, 1}, 80)),
            nullptr);
}

}  // namespace
}  // namespace hangdbg
