// Those of names.h that are sockets'.
#include <fmt/core.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include "tracee/syscalls/named_values.h"
#include "tracee/syscalls/names.h"

namespace hangdbg {
namespace {

constexpr NamedValue kDomains[] = {
    NAMED(AF_UNSPEC),  NAMED(AF_UNIX),   NAMED(AF_INET),      NAMED(AF_INET6),
    NAMED(AF_NETLINK), NAMED(AF_PACKET), NAMED(AF_ALG),       NAMED(AF_VSOCK),
    NAMED(AF_IB),      NAMED(AF_XDP),    NAMED(AF_BLUETOOTH), NAMED(AF_CAN)};

constexpr NamedValue kSocketTypes[] = {NAMED(SOCK_STREAM), NAMED(SOCK_DGRAM),
                                       NAMED(SOCK_RAW), NAMED(SOCK_RDM),
                                       NAMED(SOCK_SEQPACKET)};

constexpr NamedValue kTypeFlags[] = {NAMED(SOCK_CLOEXEC), NAMED(SOCK_NONBLOCK)};

constexpr NamedValue kProtocols[] = {NAMED(IPPROTO_IP),   NAMED(IPPROTO_ICMP),
                                     NAMED(IPPROTO_TCP),  NAMED(IPPROTO_UDP),
                                     NAMED(IPPROTO_IPV6), NAMED(IPPROTO_ICMPV6),
                                     NAMED(IPPROTO_SCTP), NAMED(IPPROTO_MPTCP)};

constexpr NamedValue kNetlink[] = {NAMED(NETLINK_ROUTE),
                                   NAMED(NETLINK_SOCK_DIAG),
                                   NAMED(NETLINK_AUDIT),
                                   NAMED(NETLINK_NETFILTER),
                                   NAMED(NETLINK_KOBJECT_UEVENT),
                                   NAMED(NETLINK_GENERIC),
                                   NAMED(NETLINK_RDMA)};

constexpr NamedValue kMessage[] = {
    NAMED(MSG_OOB),         NAMED(MSG_PEEK),     NAMED(MSG_DONTROUTE),
    NAMED(MSG_CTRUNC),      NAMED(MSG_TRUNC),    NAMED(MSG_DONTWAIT),
    NAMED(MSG_EOR),         NAMED(MSG_WAITALL),  NAMED(MSG_CONFIRM),
    NAMED(MSG_ERRQUEUE),    NAMED(MSG_NOSIGNAL), NAMED(MSG_MORE),
    NAMED(MSG_WAITFORONE),  NAMED(MSG_ZEROCOPY), NAMED(MSG_FASTOPEN),
    NAMED(MSG_CMSG_CLOEXEC)};

constexpr NamedValue kLevels[] = {
    NAMED(SOL_SOCKET), NAMED(SOL_IP),      NAMED(SOL_TCP),   NAMED(SOL_UDP),
    NAMED(SOL_IPV6),   NAMED(SOL_NETLINK), NAMED(SOL_PACKET)};

constexpr NamedValue kSocketOptions[] = {
    NAMED(SO_DEBUG),        NAMED(SO_REUSEADDR),    NAMED(SO_TYPE),
    NAMED(SO_ERROR),        NAMED(SO_DONTROUTE),    NAMED(SO_BROADCAST),
    NAMED(SO_SNDBUF),       NAMED(SO_RCVBUF),       NAMED(SO_KEEPALIVE),
    NAMED(SO_OOBINLINE),    NAMED(SO_PRIORITY),     NAMED(SO_LINGER),
    NAMED(SO_REUSEPORT),    NAMED(SO_PASSCRED),     NAMED(SO_PEERCRED),
    NAMED(SO_RCVLOWAT),     NAMED(SO_SNDLOWAT),     NAMED(SO_RCVTIMEO),
    NAMED(SO_SNDTIMEO),     NAMED(SO_BINDTODEVICE), NAMED(SO_ATTACH_FILTER),
    NAMED(SO_ACCEPTCONN),   NAMED(SO_SNDBUFFORCE),  NAMED(SO_RCVBUFFORCE),
    NAMED(SO_PROTOCOL),     NAMED(SO_DOMAIN),       NAMED(SO_BUSY_POLL),
    NAMED(SO_INCOMING_CPU), NAMED(SO_ZEROCOPY)};

constexpr NamedValue kTcpOptions[] = {
    NAMED(TCP_NODELAY),      NAMED(TCP_MAXSEG),       NAMED(TCP_CORK),
    NAMED(TCP_KEEPIDLE),     NAMED(TCP_KEEPINTVL),    NAMED(TCP_KEEPCNT),
    NAMED(TCP_SYNCNT),       NAMED(TCP_LINGER2),      NAMED(TCP_DEFER_ACCEPT),
    NAMED(TCP_WINDOW_CLAMP), NAMED(TCP_INFO),         NAMED(TCP_QUICKACK),
    NAMED(TCP_CONGESTION),   NAMED(TCP_USER_TIMEOUT), NAMED(TCP_FASTOPEN),
    NAMED(TCP_ULP)};

constexpr NamedValue kIpOptions[] = {NAMED(IP_TOS),
                                     NAMED(IP_TTL),
                                     NAMED(IP_MTU_DISCOVER),
                                     NAMED(IP_RECVERR),
                                     NAMED(IP_PKTINFO),
                                     NAMED(IP_MTU),
                                     NAMED(IP_FREEBIND),
                                     NAMED(IP_BIND_ADDRESS_NO_PORT),
                                     NAMED(IP_MULTICAST_IF),
                                     NAMED(IP_MULTICAST_TTL),
                                     NAMED(IP_MULTICAST_LOOP),
                                     NAMED(IP_ADD_MEMBERSHIP)};

constexpr NamedValue kIpv6Options[] = {
    NAMED(IPV6_V6ONLY),         NAMED(IPV6_UNICAST_HOPS),
    NAMED(IPV6_RECVERR),        NAMED(IPV6_RECVPKTINFO),
    NAMED(IPV6_TCLASS),         NAMED(IPV6_MULTICAST_IF),
    NAMED(IPV6_MULTICAST_HOPS), NAMED(IPV6_MULTICAST_LOOP)};

constexpr NamedValue kShutdown[] = {NAMED(SHUT_RD), NAMED(SHUT_WR),
                                    NAMED(SHUT_RDWR)};

}  // namespace

std::string message_flags(std::uint64_t value) {
  return flags_text(value & kInt, kMessage);
}

std::string accept_flags(std::uint64_t value) {
  return flags_text(value & kInt, kTypeFlags);
}

std::string socket_domain(std::uint64_t value) {
  return value_text(static_cast<std::int32_t>(value), kDomains);
}

std::string socket_level(std::uint64_t value) {
  return value_text(static_cast<std::int32_t>(value), kLevels);
}

std::string shutdown_how(std::uint64_t value) {
  return value_text(static_cast<std::int32_t>(value), kShutdown);
}

std::string socket_type(std::uint64_t value) {
  constexpr std::uint64_t kType = 0xf;
  std::string text =
      value_text(static_cast<std::int64_t>(value & kType), kSocketTypes);
  if (const std::uint64_t rest = value & kInt & ~kType; rest != 0) {
    append_name(text, flags_text(rest, kTypeFlags));
  }
  return text;
}

std::string socket_protocol(std::uint64_t domain, std::uint64_t value) {
  const auto number = static_cast<std::int32_t>(value);
  switch (domain) {
    case AF_INET:
    case AF_INET6:
      return value_text(number, kProtocols);
    case AF_NETLINK:
      return value_text(number, kNetlink);
    default:
      return fmt::format("{}", number);
  }
}

std::string socket_option(std::uint64_t level, std::uint64_t value) {
  const auto number = static_cast<std::int32_t>(value);
  switch (level) {
    case SOL_SOCKET:
      return value_text(number, kSocketOptions);
    case SOL_TCP:
      return value_text(number, kTcpOptions);
    case SOL_IP:
      return value_text(number, kIpOptions);
    case SOL_IPV6:
      return value_text(number, kIpv6Options);
    default:
      return fmt::format("{}", number);
  }
}

}  // namespace hangdbg
