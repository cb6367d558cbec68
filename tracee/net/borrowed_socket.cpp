#include "tracee/net/borrowed_socket.h"

#include <fmt/core.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "base/fd.h"

namespace hangdbg {
namespace {

Result<Fd> borrow(int pid, int fd) {
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process) {
    return fail_errno(
        fmt::format("cannot open process {}", pid),
        errno == ESRCH ? ErrorId::NoSuchProcess : ErrorId::System);
  }
  Fd socket(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), fd, 0)));
  if (!socket) {
    return fail_errno(
        fmt::format("cannot look at descriptor {} of process {}", fd, pid),
        errno == EPERM ? ErrorId::NotPermitted : ErrorId::System);
  }
  return socket;
}

template <class T>
std::optional<T> option(const Fd& socket, int level, int name) {
  T value{};
  socklen_t size = sizeof value;
  return ::getsockopt(socket.get(), level, name, &value, &size) == 0
             ? std::optional(value)
             : std::nullopt;
}

std::optional<std::chrono::milliseconds> timeout(const Fd& socket, int name) {
  const auto value = option<timeval>(socket, SOL_SOCKET, name);
  if (!value || (value->tv_sec == 0 && value->tv_usec == 0)) {
    return std::nullopt;
  }
  return std::chrono::milliseconds(value->tv_sec * 1000 +
                                   value->tv_usec / 1000);
}

SocketOptions options_of(const Fd& socket) {
  SocketOptions options;
  options.keeps_alive =
      option<int>(socket, SOL_SOCKET, SO_KEEPALIVE).value_or(0) != 0;
  options.keep_idle = std::chrono::seconds(
      option<int>(socket, IPPROTO_TCP, TCP_KEEPIDLE).value_or(0));
  const auto user = option<unsigned>(socket, IPPROTO_TCP, TCP_USER_TIMEOUT);
  if (user.value_or(0) > 0) {
    options.user_timeout = std::chrono::milliseconds(*user);
  }
  options.receive_timeout = timeout(socket, SO_RCVTIMEO);
  options.send_timeout = timeout(socket, SO_SNDTIMEO);
  std::array<char, IFNAMSIZ> device{};
  socklen_t size = device.size();
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_BINDTODEVICE, device.data(),
                   &size) == 0) {
    options.device.assign(device.data(), ::strnlen(device.data(), size));
  }
  return options;
}

SocketAddress socket_address_of(const sockaddr_storage& from) {
  if (from.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &from, sizeof v4);
    std::array<std::uint8_t, 4> bytes{};
    std::memcpy(bytes.data(), &v4.sin_addr, bytes.size());
    return SocketAddress::v4(bytes, ntohs(v4.sin_port));
  }
  SocketAddress address;
  if (from.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &from, sizeof v6);
    std::memcpy(address.bytes.data(), &v6.sin6_addr, address.bytes.size());
    address.port = ntohs(v6.sin6_port);
  }
  return address;
}

using NameCall = int (*)(int, sockaddr*, socklen_t*);

SocketAddress socket_name(const Fd& socket, NameCall call) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  (void)call(socket.get(), reinterpret_cast<sockaddr*>(&name), &size);
  return socket_address_of(name);
}

std::uint32_t queued(const Fd& socket, unsigned long what) {
  int bytes = 0;
  return ::ioctl(socket.get(), what, &bytes) == 0 && bytes > 0
             ? static_cast<std::uint32_t>(bytes)
             : 0;
}

}  // namespace

Result<BorrowedSocket> borrow_tcp_socket(int pid, int fd) {
  const Fd socket = TRY(borrow(pid, fd));
  std::array<std::byte, 512> info{};
  socklen_t size = info.size();
  if (::getsockopt(socket.get(), IPPROTO_TCP, TCP_INFO, info.data(), &size) !=
      0) {
    return fail_errno(fmt::format("descriptor {} is no TCP socket", fd));
  }
  BorrowedSocket seen{.tcp = parse_tcp_info(std::span(info).first(size))};
  seen.tcp.local = socket_name(socket, ::getsockname);
  seen.tcp.remote = socket_name(socket, ::getpeername);
  if (seen.tcp.state != TcpState::Listen) {
    seen.tcp.unread = queued(socket, SIOCINQ);
    seen.tcp.unacknowledged = queued(socket, SIOCOUTQ);
  }
  seen.options = options_of(socket);
  return seen;
}

}  // namespace hangdbg
