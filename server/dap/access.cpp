#include "server/dap/access.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>

#include "base/fd.h"
#include "base/text.h"
#include "tracee/net/tcp_sockets.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace {

constexpr std::size_t kShortestToken = 16;
constexpr int kTokenPatienceMs = 5000;
constexpr auto kListPatience = std::chrono::seconds(5);

SocketAddress place_of(const asio::ip::tcp::endpoint& endpoint) {
  const auto& address = endpoint.address();
  return address.is_v4()
             ? SocketAddress::v4(address.to_v4().to_bytes(), endpoint.port())
             : SocketAddress{address.to_v6().to_bytes(), endpoint.port()};
}

// Its first line. What is no file, `<(pass show token)` for one, has a moment
// to say it.
Result<std::string> token_in(const std::string& file) {
  const Fd open(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!open || ::fstat(open.get(), &status) != 0) {
    return fail(ErrorId::Usage, "cannot read the token in " + printable(file));
  }
  if ((status.st_mode & 077) != 0) {
    return fail(ErrorId::Usage, printable(file) + " can be read by others",
                "chmod 600 " + shell_quote(file));
  }
  std::array<char, 4096> bytes{};
  std::size_t size = 0;
  pollfd news{open.get(), POLLIN, 0};
  while (size < bytes.size() && ::poll(&news, 1, kTokenPatienceMs) > 0) {
    const auto got =
        ::read(open.get(), bytes.data() + size, bytes.size() - size);
    if (got <= 0) {
      break;
    }
    size += static_cast<std::size_t>(got);
  }
  const std::string_view text(bytes.data(), size);
  return std::string(text.substr(0, text.find('\n')));
}

// Any uid that no user has here is shown as this one (user_namespaces(7)).
std::optional<uid_t> uid_of_strangers() {
  std::uint64_t inside = 0;
  std::uint64_t outside = 0;
  std::uint64_t count = 0;
  std::ifstream("/proc/self/uid_map") >> inside >> outside >> count;
  constexpr std::uint64_t kAll = 4294967295;
  if (inside == 0 && outside == 0 && count == kAll) {
    return std::nullopt;  // no stranger in the first namespace
  }
  uid_t overflow = 65534;
  std::ifstream("/proc/sys/kernel/overflowuid") >> overflow;
  return overflow;
}

}  // namespace

Result<std::string> make_token() {
  std::array<unsigned char, 32> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) !=
      static_cast<ssize_t>(bytes.size())) {
    return fail_errno("no random bytes for a token");
  }
  std::string token;
  for (const unsigned char byte : bytes) {
    token += fmt::format("{:02x}", byte);
  }
  return token;
}

Result<std::optional<std::string>> given_token(const std::string& file) {
  std::string token;
  if (!file.empty()) {
    token = TRY(token_in(file));
  } else if (const char* const variable = std::getenv("HANGDBG_TOKEN")) {
    token = variable;
  } else {
    return std::nullopt;
  }
  token = trim(token);
  if (token.size() < kShortestToken) {
    return fail(
        ErrorId::Usage,
        fmt::format("a token has {} characters or more", kShortestToken),
        "head -c 32 /dev/urandom | base64 >FILE");
  }
  return token;
}

bool is_token(std::string_view given, std::string_view token) {
  volatile unsigned char differences = given.size() == token.size() ? 0 : 1;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const char other = given.empty() ? '\0' : given[i % given.size()];
    differences = differences | static_cast<unsigned char>(token[i] ^ other);
  }
  return !token.empty() && differences == 0;
}

std::optional<uid_t> user_of_unix_peer(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return std::nullopt;
  }
  return peer.uid;
}

std::optional<uid_t> user_of_tcp_peer(const asio::ip::tcp::endpoint& peer,
                                      const asio::ip::tcp::endpoint& here) {
  const auto socket = find_tcp_peer(place_of(here), place_of(peer));
  return socket && *socket ? std::optional<uid_t>((*socket)->user)
                           : std::nullopt;
}

// Not the owner of the connection's other end: before accept(2) that is listed
// as root's. Also listeners on all addresses, perhaps by IPv6.
std::vector<uid_t> users_who_listen(const asio::ip::tcp::endpoint& endpoint) {
  const SocketAddress here = place_of(endpoint);
  const auto all = read_tcp_sockets(::getpid(), Deadline::in(kListPatience));
  std::vector<uid_t> users;
  if (!all || !all->complete) {
    return users;
  }
  for (const TcpSocket& socket : all->sockets) {
    if (socket.state == TcpState::Listen && socket.local.port == here.port &&
        (socket.local.is_any() || socket.local == here)) {
      users.push_back(socket.user);
    }
  }
  return users;
}

bool is_trusted(std::optional<uid_t> user) {
  return user && (*user == ::geteuid() || *user == 0) &&
         user != uid_of_strangers();
}

}  // namespace hangdbg
