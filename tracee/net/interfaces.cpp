#include "tracee/net/interfaces.h"

#include <linux/ethtool.h>
#include <linux/if_addr.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "tracee/net/netlink.h"

namespace hangdbg {
namespace {

Status dump(int socket,
            std::uint16_t type,
            Deadline deadline,
            const std::function<void(std::span<const std::byte>)>& each) {
  struct {
    nlmsghdr header;
    rtgenmsg body;
  } request{};
  request.header.nlmsg_len = NLMSG_LENGTH(sizeof request.body);
  request.header.nlmsg_type = type;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.body.rtgen_family = AF_UNSPEC;
  return ask_netlink(socket, std::as_bytes(std::span(&request, 1)), deadline,
                     [&](std::span<const std::byte> datagram) {
                       return each_message(
                           datagram,
                           [&](std::uint16_t, std::span<const std::byte> body) {
                             each(body);
                           });
                     });
}

std::optional<SocketAddress> address_in(std::uint8_t family,
                                        std::span<const std::byte> bytes) {
  if (family == AF_INET) {
    const auto v4 = value_at<std::array<std::uint8_t, 4>>(bytes, 0);
    return v4 ? std::optional(SocketAddress::v4(*v4, 0)) : std::nullopt;
  }
  const auto v6 = value_at<std::array<std::uint8_t, 16>>(bytes, 0);
  return v6 && family == AF_INET6 ? std::optional(SocketAddress{.bytes = *v6})
                                  : std::nullopt;
}

}  // namespace

Result<std::vector<Interface>> read_interfaces(int pid, Deadline deadline) {
  const Fd socket = TRY(open_netlink(pid, NETLINK_ROUTE));
  std::vector<Interface> found;
  TRY(dump(socket.get(), RTM_GETLINK, deadline,
           [&](std::span<const std::byte> body) {
             const auto head = value_at<ifinfomsg>(body, 0);
             if (!head) {
               return;
             }
             Interface one{.index = head->ifi_index,
                           .up = (head->ifi_flags & IFF_UP) != 0,
                           .running = (head->ifi_flags & IFF_RUNNING) != 0};
             each_attribute(
                 body, sizeof *head,
                 [&](std::uint16_t type, std::span<const std::byte> value) {
                   if (type == IFLA_IFNAME) {
                     const auto* const text =
                         reinterpret_cast<const char*>(value.data());
                     one.name.assign(text, ::strnlen(text, value.size()));
                   } else if (type == IFLA_MTU) {
                     one.mtu =
                         value_at<std::int32_t>(value, 0).value_or(one.mtu);
                   }
                 });
             found.push_back(std::move(one));
           }));
  TRY(dump(socket.get(), RTM_GETADDR, deadline,
           [&](std::span<const std::byte> body) {
             const auto head = value_at<ifaddrmsg>(body, 0);
             if (!head) {
               return;
             }
             // IFA_ADDRESS is the other end's where there are but two.
             std::optional<SocketAddress> address, local;
             each_attribute(
                 body, sizeof *head,
                 [&](std::uint16_t type, std::span<const std::byte> value) {
                   if (type == IFA_LOCAL) {
                     local = address_in(head->ifa_family, value);
                   } else if (type == IFA_ADDRESS) {
                     address = address_in(head->ifa_family, value);
                   }
                 });
             const auto of = std::ranges::find(
                 found, static_cast<int>(head->ifa_index), &Interface::index);
             const auto& own = local ? local : address;
             if (of != found.end() && own) {
               of->addresses.push_back(*own);
             }
           }));
  return found;
}

std::optional<int> interface_speed(const std::string& name) {
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ethtool_cmd asked{};
  asked.cmd = ETHTOOL_GSET;
  ifreq request{};
  if (!socket || name.size() >= sizeof request.ifr_name) {
    return std::nullopt;
  }
  std::ranges::copy(name, request.ifr_name);
  request.ifr_data = reinterpret_cast<char*>(&asked);
  if (::ioctl(socket.get(), SIOCETHTOOL, &request) != 0) {
    return std::nullopt;
  }
  const auto speed = static_cast<std::int32_t>(ethtool_cmd_speed(&asked));
  return speed > 0 ? std::optional(speed) : std::nullopt;
}

const Interface* interface_of(const std::vector<Interface>& interfaces,
                              const SocketAddress& address) {
  for (const Interface& one : interfaces) {
    for (const SocketAddress& own : one.addresses) {
      // All of 127.0.0.0/8 is the loopback's.
      if (own.bytes == address.bytes ||
          (own.is_loopback() && address.is_loopback() &&
           own.is_v4() == address.is_v4())) {
        return &one;
      }
    }
  }
  return nullptr;
}

}  // namespace hangdbg
