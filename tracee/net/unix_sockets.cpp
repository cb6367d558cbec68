#include "tracee/net/unix_sockets.h"

#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/text.h"
#include "tracee/net/netlink.h"
#include "tracee/proc/proc_file.h"

namespace hangdbg {
namespace {

constexpr std::size_t kUnixSocketsMostSockets = 200'000;
constexpr std::uint8_t kEstablished = 1;
constexpr std::uint8_t kListens = 10;

std::string path_of(std::span<const std::byte> value) {
  std::string name(reinterpret_cast<const char*>(value.data()), value.size());
  if (!name.empty() && name.front() == '\0') {
    name.front() = '@';
  }
  while (!name.empty() && name.back() == '\0') {
    name.pop_back();
  }
  return name;
}

std::optional<UnixSocket> socket_in(std::span<const std::byte> body) {
  const auto head = value_at<unix_diag_msg>(body, 0);
  if (!head) {
    return std::nullopt;
  }
  UnixSocket socket{.inode = head->udiag_ino,
                    .type = head->udiag_type,
                    .listens = head->udiag_state == kListens,
                    .connected = head->udiag_state == kEstablished};
  each_attribute(body, sizeof *head,
                 [&](std::uint16_t type, std::span<const std::byte> value) {
                   if (type == UNIX_DIAG_NAME) {
                     socket.name = path_of(value);
                   } else if (type == UNIX_DIAG_PEER) {
                     socket.peer =
                         value_at<std::uint32_t>(value, 0).value_or(0);
                   } else if (type == UNIX_DIAG_ICONS) {
                     constexpr std::size_t kSize = sizeof(std::uint32_t);
                     for (std::size_t at = 0; at < value.size(); at += kSize) {
                       if (const auto one = value_at<std::uint32_t>(value, at);
                           one.value_or(0) != 0) {
                         socket.waiting.push_back(*one);
                       }
                     }
                   } else if (type == UNIX_DIAG_RQLEN) {
                     socket.unread = value_at<std::uint32_t>(value, 0);
                     socket.unsent = value_at<std::uint32_t>(value, 4);
                   }
                 });
  return socket;
}

Status read_by_diag(int pid, Deadline deadline, UnixSockets& found) {
  const Fd diag = TRY(open_netlink(pid, NETLINK_SOCK_DIAG));
  struct {
    nlmsghdr header;
    unix_diag_req body;
  } request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.body.sdiag_family = AF_UNIX;
  request.body.udiag_states = ~0U;
  request.body.udiag_show =
      UDIAG_SHOW_NAME | UDIAG_SHOW_PEER | UDIAG_SHOW_RQLEN | UDIAG_SHOW_ICONS;
  return ask_netlink(
      diag.get(), std::as_bytes(std::span(&request, 1)), deadline,
      [&](std::span<const std::byte> datagram) -> Result<bool> {
        const bool last = TRY(each_message(
            datagram, [&](std::uint16_t, std::span<const std::byte> body) {
              if (auto socket = socket_in(body)) {
                found.sockets.push_back(*std::move(socket));
              }
            }));
        found.complete = found.sockets.size() <= kUnixSocketsMostSockets;
        return last || !found.complete;
      });
}

}  // namespace

Result<UnixSockets> read_unix_sockets(int pid, Deadline deadline) {
  UnixSockets found;
  const Status status = read_by_diag(pid, deadline, found);
  if (!status) {
    found = {.why_no_peers = status.error()};
    found.sockets = parse_proc_unix(TRY(read_proc_file(pid, "net/unix")));
  }
  return found;
}

// "0000000000000000: 00000002 00000000 00010000 0001 01 12345 /run/x"
std::vector<UnixSocket> parse_proc_unix(std::string_view text) {
  constexpr std::string_view kConnected = "03";  // SS_CONNECTED
  constexpr std::uint32_t kAccepts = 1U << 16;   // __SO_ACCEPTCON
  std::vector<UnixSocket> sockets;
  for (const std::string_view line : split(text, '\n')) {
    const auto words = split_words(line);
    if (words.size() < 7 || !words[0].ends_with(':')) {
      continue;
    }
    const auto flags = parse_number<std::uint32_t>(words[3], 16);
    const auto type = parse_number<int>(words[4], 16);
    const auto inode = parse_number<std::uint64_t>(words[6]);
    if (!flags || !type || !inode) {
      continue;
    }
    sockets.push_back(
        {.inode = *inode,
         .type = *type,
         .listens = (*flags & kAccepts) != 0,
         .connected = words[5] == kConnected,
         // It may have spaces.
         .name = words.size() > 7
                     ? std::string(words[7].data(),
                                   line.data() + line.size() - words[7].data())
                     : ""});
  }
  return sockets;
}

}  // namespace hangdbg
