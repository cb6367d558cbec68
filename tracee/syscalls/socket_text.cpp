#include "tracee/syscalls/socket_text.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "tracee/syscalls/names.h"

namespace hangdbg {
namespace {

template <class T>
std::optional<T> as(std::span<const std::byte> address) {
  T value{};
  if (address.size() < sizeof value) {
    return {};
  }
  std::memcpy(&value, address.data(), sizeof value);
  return value;
}

// The path ends with the address, or at a NUL before; one that begins with a
// NUL is a name that no file has.
std::string unix_text(std::span<const std::byte> address) {
  constexpr std::size_t kPathAt = offsetof(sockaddr_un, sun_path);
  if (address.size() <= kPathAt) {
    return "";
  }
  std::string_view path(reinterpret_cast<const char*>(address.data()) + kPathAt,
                        address.size() - kPathAt);
  if (path.front() == '\0') {
    return "@" + printable(path.substr(1));
  }
  return printable(path.substr(0, path.find('\0')));
}

int option(int fd, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

using Endpoint = int (*)(int, sockaddr*, socklen_t*);

// Empty if it has none.
std::string endpoint_text(int fd, Endpoint end) {
  alignas(sockaddr_storage) std::array<std::byte, sizeof(sockaddr_storage)>
      bytes{};
  socklen_t size = bytes.size();
  if (end(fd, reinterpret_cast<sockaddr*>(bytes.data()), &size) != 0) {
    return "";
  }
  const auto address =
      std::span(bytes).first(std::min<std::size_t>(size, bytes.size()));
  const std::string text = socket_address_text(address);
  return text.starts_with("unix:") ? text.substr(5) : text;
}

std::string kind_text(int fd) {
  const int domain = option(fd, SO_DOMAIN);
  const int type = option(fd, SO_TYPE);
  if (domain == AF_INET || domain == AF_INET6) {
    return type == SOCK_STREAM ? "TCP" : type == SOCK_DGRAM ? "UDP" : "IP";
  }
  const std::string name = socket_domain(static_cast<std::uint64_t>(domain));
  return name.starts_with("AF_") ? name.substr(3) : name;
}

}  // namespace

std::string socket_address_text(std::span<const std::byte> address) {
  const auto family = as<sa_family_t>(address);
  if (!family) {
    return "";
  }
  std::array<char, INET6_ADDRSTRLEN> text{};
  switch (*family) {
    case AF_INET:
      if (const auto in = as<sockaddr_in>(address)) {
        ::inet_ntop(AF_INET, &in->sin_addr, text.data(), text.size());
        return fmt::format("{}:{}", text.data(), ntohs(in->sin_port));
      }
      break;
    case AF_INET6:
      if (const auto in = as<sockaddr_in6>(address)) {
        ::inet_ntop(AF_INET6, &in->sin6_addr, text.data(), text.size());
        return fmt::format("[{}]:{}", text.data(), ntohs(in->sin6_port));
      }
      break;
    case AF_UNIX:
      return "unix:" + unix_text(address);
    case AF_NETLINK:
      if (const auto link = as<sockaddr_nl>(address)) {
        return fmt::format("netlink:{}", link->nl_pid);
      }
      break;
    default:
      break;
  }
  return fmt::format("{} of {} bytes", socket_domain(*family), address.size());
}

std::string socket_text(int fd) {
  const std::string local = endpoint_text(fd, ::getsockname);
  const std::string remote = endpoint_text(fd, ::getpeername);
  std::string text = kind_text(fd);
  if (!local.empty()) {
    text += " " + local;
  }
  if (!remote.empty()) {
    text += "->" + remote;
  }
  return text;
}

}  // namespace hangdbg
