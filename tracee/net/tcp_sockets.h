// The TCP and UDP sockets of a network namespace, as the kernel has them: both
// ends, state, what lies in their queues, and since when nothing came or went.
//
// By inet_diag (sock_diag(7)) with TCP_INFO. Where that cannot be had, as in
// a namespace that we may not enter, by /proc/PID/net/tcp and tcp6 (proc(5)):
// without the times then.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "tracee/net/socket_address.h"

namespace hangdbg {

// As the kernel numbers them (include/net/tcp_states.h).
enum class TcpState : std::uint8_t {
  Unknown = 0,
  Established = 1,
  SynSent = 2,
  SynReceived = 3,
  FinWait1 = 4,
  FinWait2 = 5,
  TimeWait = 6,
  Close = 7,
  CloseWait = 8,
  LastAck = 9,
  Listen = 10,
  Closing = 11,
};
std::string_view tcp_state_name(TcpState state);  // "ESTABLISHED", as netstat

// What the kernel will do next about a connection, if nothing comes before
// (sock_diag(7)).
enum class TcpTimer : std::uint8_t {
  None = 0,
  Retransmit = 1,
  KeepAlive = 2,
  TimeWait = 3,
  ZeroWindow = 4,  // asks a peer that had no room whether it has some
};
std::string_view tcp_timer_name(TcpTimer timer);  // "zero-window probe"

// What TCP_INFO says; those that an old kernel lacks are empty.
struct TcpProgress {
  std::chrono::milliseconds last_sent{};      // so long ago: data, no answers
  std::chrono::milliseconds last_received{};  // likewise
  std::chrono::milliseconds last_answered{};  // what was sent
  std::uint32_t total_retransmits = 0;
  std::optional<std::uint64_t> acknowledged;  // bytes, of all that was sent
  std::optional<std::uint64_t> received;      // bytes
  std::optional<std::uint32_t> unsent;        // bytes that have not left yet
  std::chrono::microseconds rto{};            // so long it waits for an answer
  std::chrono::microseconds rtt{};            // so long answers take
  std::uint32_t congestion_window = 0;        // segments
  std::uint32_t unacknowledged_segments = 0;  // of what has left
  std::uint32_t lost = 0;                     // of them
  std::uint32_t backoff = 0;  // so often the time has been doubled
  std::uint32_t probes = 0;   // without an answer: keep-alive, zero window
  std::optional<std::uint32_t> peer_window;  // bytes that it has room for
};

struct TcpSocket {
  std::uint64_t inode = 0;
  std::uint32_t user = 0;  // its creator
  SocketAddress local;
  SocketAddress remote;
  TcpState state = TcpState::Unknown;
  std::uint32_t unread = 0;          // bytes received, not yet read
  std::uint32_t unacknowledged = 0;  // written, and not known to have arrived
  std::uint32_t retransmits = 0;     // of what is not acknowledged
  std::optional<TcpProgress> progress;
  TcpTimer timer = TcpTimer::None;
  std::chrono::milliseconds timer_due{};
};

struct TcpSockets {
  std::vector<TcpSocket> sockets;
  // Without an inode: no process has them. ESTABLISHED or CLOSE_WAIT: in the
  // accept queue of the socket that listens there; SYN_RECV: on the way to it.
  std::vector<TcpSocket> not_accepted;
  bool complete = true;                  // false: there are more than we read
  std::optional<Error> why_no_progress;  // why they come from /proc
};

// Of the namespace that the process is in. Errors: those of read_proc_file.
Result<TcpSockets> read_tcp_sockets(int pid, Deadline deadline);

// The same of UDP, whose sockets are TcpState::Established if they are
// connected and Close if they are not, and have no progress. Errors: the same.
Result<TcpSockets> read_udp_sockets(int pid, Deadline deadline);

// The other end of a connection of ours, if that is in our network namespace,
// and open. Where the kernel can be queried for one socket this costs the same
// however many there are. Errors: those of read_proc_file.
Result<std::optional<TcpSocket>> find_tcp_peer(const SocketAddress& ours,
                                               const SocketAddress& peers);

// Which network namespace a process is in. Errors: those of read_proc_link.
Result<std::uint64_t> network_namespace(int pid);

// The inodes of its open sockets, of any family, with the lowest descriptor of
// each. Errors: NoSuchProcess, NotPermitted, System.
Result<std::map<std::uint64_t, int>> socket_descriptors(int pid);

// ---- what the kernel says, taken apart

// The text of /proc/net/tcp or tcp6; lines that do not parse are skipped.
TcpSockets parse_proc_tcp(std::string_view text);

// struct tcp_info (linux/tcp.h), as long as the kernel has it: state, progress
// and retransmits.
TcpSocket parse_tcp_info(std::span<const std::byte> info);

// One datagram of an answer to a dump. Whether it was the last.
// Errors: System, with what the kernel answers.
Result<bool> parse_diag(std::span<const std::byte> datagram, TcpSockets& found);

}  // namespace hangdbg
