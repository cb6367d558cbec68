#include "tracee/net/netlink.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>
#include <vector>

#include "base/spawn_up_to.h"
#include "tracee/proc/proc_file.h"

namespace hangdbg {
namespace {

constexpr std::size_t kDatagram = 64 * 1024;

Result<Fd> netlink_socket(int protocol) {
  Fd made(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, protocol));
  return made ? Result<Fd>(std::move(made))
              : fail_errno("the kernel lists no sockets");
}

}  // namespace

Result<Fd> open_netlink(int pid, int protocol) {
  const auto ours = read_proc_link(::getpid(), "ns/net");
  if (ours && *ours == TRY(read_proc_link(pid, "ns/net"))) {
    return netlink_socket(protocol);
  }
  const std::string path = fmt::format("/proc/{}/ns/net", pid);
  const Fd space(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!space) {
    return fail_errno(fmt::format("cannot open {}", path));
  }
  Result<Fd> made = fail(ErrorId::System, "no thread of ours can be had");
  for (std::thread& thread : spawn_up_to(1, [&] {
         if (::setns(space.get(), CLONE_NEWNET) == 0) {
           made = netlink_socket(protocol);
         } else {
           made = fail_errno(fmt::format("cannot enter {}", path));
         }
       })) {
    thread.join();
  }
  return made;
}

Status ask_netlink(
    int socket,
    std::span<const std::byte> request,
    Deadline deadline,
    const std::function<Result<bool>(std::span<const std::byte>)>& each) {
  if (::send(socket, request.data(), request.size(), 0) < 0) {
    return fail_errno("the kernel lists no sockets");
  }
  std::vector<std::byte> datagram(kDatagram);
  for (;;) {
    pollfd ready{.fd = socket, .events = POLLIN, .revents = 0};
    const int count = ::poll(&ready, 1, deadline.left_ms());
    if (count == 0) {
      return fail(ErrorId::TimedOut, "the list of sockets took too long");
    }
    const ssize_t size =
        count < 0 ? -1
                  : ::recv(socket, datagram.data(), datagram.size(), MSG_TRUNC);
    if (size < 0 && errno == EINTR) {
      continue;
    }
    if (size <= 0 || static_cast<std::size_t>(size) > datagram.size()) {
      return fail_errno("the kernel's list of sockets cannot be read");
    }
    if (TRY(each(std::span(datagram).first(static_cast<std::size_t>(size))))) {
      return {};
    }
  }
}

Result<bool> each_message(
    std::span<const std::byte> datagram,
    const std::function<void(std::uint16_t, std::span<const std::byte>)>&
        each) {
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
    each(header.nlmsg_type, body);
    datagram = datagram.subspan(
        std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), datagram.size()));
  }
  return false;
}

void each_attribute(
    std::span<const std::byte> body,
    std::size_t head,
    const std::function<void(std::uint16_t, std::span<const std::byte>)>&
        each) {
  auto attributes =
      body.subspan(std::min<std::size_t>(NLMSG_ALIGN(head), body.size()));
  while (const auto header = value_at<rtattr>(attributes, 0)) {
    if (header->rta_len < sizeof(rtattr) ||
        header->rta_len > attributes.size()) {
      return;
    }
    each(header->rta_type,
         attributes.subspan(RTA_LENGTH(0), header->rta_len - RTA_LENGTH(0)));
    attributes = attributes.subspan(
        std::min<std::size_t>(RTA_ALIGN(header->rta_len), attributes.size()));
  }
}

}  // namespace hangdbg
