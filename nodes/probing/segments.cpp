#include "nodes/probing/segments.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "nodes/probing/wire.h"

namespace hangdbg {

int segment_size(int socket) {
  int size = 0;
  socklen_t length = sizeof size;
  return ::getsockopt(socket, IPPROTO_TCP, TCP_MAXSEG, &size, &length) == 0
             ? size
             : 0;
}

int send_segments(int socket, std::string_view text, std::size_t& sent) {
  static constexpr std::array<char, 65536> kNothing{};
  const auto most =
      static_cast<std::size_t>(std::clamp(segment_size(socket), 512, 65536));
  while (sent < text.size() + kProbeBulk) {
    const bool words = sent < text.size();
    const std::size_t left =
        words ? text.size() - sent
              : std::min(most, text.size() + kProbeBulk - sent);
    const auto size = ::send(socket, words ? &text[sent] : kNothing.data(),
                             left, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size < 0 && errno != EINTR) {
      return errno == EAGAIN ? 0 : errno;
    }
    sent += size > 0 ? static_cast<std::size_t>(size) : 0;
  }
  return 0;
}

unsigned socket_address(const std::string& address,
                        std::uint16_t port,
                        void* storage) {
  auto* const v4 = static_cast<sockaddr_in*>(storage);
  if (::inet_pton(AF_INET, address.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    return sizeof *v4;
  }
  auto* const v6 = static_cast<sockaddr_in6*>(storage);
  if (::inet_pton(AF_INET6, address.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    return sizeof *v6;
  }
  return 0;
}

}  // namespace hangdbg
