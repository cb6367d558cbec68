#include "server/dap/lost_peer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace hangdbg {
namespace {

// It is asked whether it is there after so many seconds of silence, and given
// up after as many more; so is one that acknowledges nothing of what it is
// sent.
constexpr int kSilence = 30;

}  // namespace

void notice_lost_peer(int socket) {
  const int on = 1;
  const int probes = 3;
  const int interval = kSilence / probes;
  const int unheard = 2 * kSilence * 1000;  // ms
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &kSilence, sizeof kSilence);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &unheard, sizeof unheard);
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace hangdbg
