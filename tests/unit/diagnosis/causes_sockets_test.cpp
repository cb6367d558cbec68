// The rules of the diagnosis about connections and event loops, on processes
// that are made up.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>

#include "tests/unit/support/made_up_cases.h"

namespace hangdbg {
namespace {

constexpr std::uint64_t kSocket = 42;
constexpr std::uint64_t kSecond = 43;
constexpr std::uint64_t kForever = ~0ULL;

MadeUpProcess& at_socket(MadeUpSystem& system, long call = SYS_recvfrom) {
  auto& one = system.python(kOne);
  one.sleeps_in(call, {5}, own_frames());
  one.open_socket(5, kSocket);
  return one;
}

TcpSocket tcp(TcpState state) {
  TcpSocket socket{.inode = kSocket, .state = state};
  socket.local = SocketAddress::v4({10, 0, 0, 1}, 40000);
  socket.remote = SocketAddress::v4({10, 0, 0, 2}, 29500);
  return socket;
}

// It recv()s from a connection in that state.
TcpSocket& at_tcp(MadeUpSystem& system,
                  TcpState state = TcpState::Established,
                  long call = SYS_recvfrom) {
  at_socket(system, call);
  return system.tcp[kSocket] = tcp(state);
}

void sleeps(MadeUpSystem& system, int pid) {
  system.process(pid).sleeps_in(SYS_clock_nanosleep, {});
}

// An event loop that watches these descriptors.
MadeUpProcess& at_epoll(MadeUpSystem& system,
                        std::vector<std::uint64_t> sockets,
                        std::uint64_t time = kForever) {
  auto& one = system.python(kOne);
  one.sleeps_in(SYS_epoll_wait, {6, 0, 0, time},
                called({{"selectors.py", "select"}}));
  OpenFile set{.fd = 6, .kind = FileKind::Epoll};
  for (std::size_t i = 0; i < sockets.size(); ++i) {
    const int fd = 10 + static_cast<int>(i);
    one.open_socket(fd, sockets[i]);
    set.watches.push_back({.fd = fd, .events = POLLIN});
  }
  one.files[6] = set;
  return one;
}

// asyncio calls the program's function.
void in_event_loop(ThreadSnapshot& thread) {
  thread.stack.frames.push_back(
      frame("/usr/lib/python3.11/asyncio/events.py", "_run"));
  thread.stack.frames.push_back(
      frame("/usr/lib/python3.11/asyncio/base_events.py", "_run_once"));
}

}  // namespace

const std::vector<MadeUpCase>& socket_cases() {
  using enum Progress;
  using enum Confidence;
  static const std::vector<MadeUpCase> kCases = {
      // ---- the store of torch.distributed
      {"a_key_that_no_rank_has_set", CauseId::StoreWait, Blocked, Likely, true,
       "waits in the store of its job, at 10.0.0.2:29500, for what no rank has "
       "set there",
       [](auto& system) {
         at_tcp(system);
         system.at(kOne).environment = {{"MASTER_PORT", "29500"}};
       }},
      {"a_connection_to_another_port", CauseId::PeerSilent, Blocked, Likely,
       false, "",
       [](auto& system) {
         at_tcp(system);
         system.at(kOne).environment = {{"MASTER_PORT", "29501"}};
       }},
      // ---- Unix sockets
      {"the_other_end_sleeps", CauseId::PeerSilent, Blocked, Likely, false,
       "waits for what process 99999902 sends over a Unix socket",
       [](auto& system) {
         at_socket(system);
         sleeps(system, kOther);
         system.peers[kSocket] = {kOther};
       }},
      {"the_other_end_does_not_read", CauseId::PeerDoesNotRead, Blocked, Likely,
       false, "waits until process 99999902 reads from a Unix socket",
       [](auto& system) {
         at_socket(system, SYS_sendto);
         sleeps(system, kOther);
         system.peers[kSocket] = {kOther};
       }},
      {"the_other_end_has_threads", CauseId::PeerSilent, Blocked, Possible,
       false,
       "waits for what process 99999902 sends over a Unix socket, which has "
       "read all that was sent",
       [](auto& system) {
         at_socket(system);
         system.peers[kSocket] = {kOther};
         auto& other = system.process(kOther);
         other.sleeps_in(SYS_clock_nanosleep, {});
         other.sleeps_in(SYS_semtimedop, {});
       }},
      {"two_have_the_other_end", CauseId::PeerSilent, Blocked, Possible, false,
       "process 99999902",
       [](auto& system) {
         at_socket(system);
         sleeps(system, kOther);
         sleeps(system, kThird);
         system.peers[kSocket] = {kOther, kOne, kThird, kOther};
       }},
      {"a_pair_of_its_own", CauseId::PeerSilent, Blocked, Likely, true,
       "whose other end this process itself has",
       [](auto& system) {
         at_socket(system);
         system.peers[kSocket] = {kOne};
       }},
      {"who_has_the_other_end_is_not_seen", CauseId::PeerSilent, Idle, Possible,
       false, "cannot be seen from here",
       [](auto& system) {
         at_socket(system);
         system.peers[kSocket] = {};
       }},
      {"a_unix_socket_on_which_data_comes", CauseId::PeerSilent, Blocked,
       Likely, false, "whose other end this process itself has",
       [](auto& system) {
         at_socket(system).threads.front().ran = true;
         system.peers[kSocket] = {kOne};
       }},
      {"a_unix_socket_in_an_event_loop", CauseId::Idle, Idle, Likely, false, "",
       [](auto& system) {
         at_epoll(system, {kSocket});
         system.peers[kSocket] = {kOne};
       }},
      {"a_socket_of_another_kind", CauseId::Idle, Idle, Likely, false, "",
       [](auto& system) { at_socket(system); }},
      // ---- TCP
      {"a_connection_that_is_not_answered", CauseId::PeerUnreachable, Blocked,
       Certain, true,
       "connects to 10.0.0.2:29500, which does not answer: a firewall",
       [](auto& system) { at_tcp(system, TcpState::SynSent, SYS_connect); }},
      {"a_peer_that_is_silent", CauseId::PeerSilent, Blocked, Likely, false,
       "waits for 10.0.0.2:29500, which sends nothing",
       [](auto& system) {
         at_tcp(system).progress =
             TcpProgress{.last_received = std::chrono::minutes(2)};
       }},
      {"a_peer_that_has_closed", CauseId::Runs, Running, Likely, false,
       "is about to read the end of the connection from 10.0.0.2:29500",
       [](auto& system) { at_tcp(system, TcpState::CloseWait); }},
      {"no_room_to_send", CauseId::PeerDoesNotRead, Blocked, Likely, true,
       "which does not read",
       [](auto& system) { at_tcp(system, TcpState::Established, SYS_sendto); }},
      {"bytes_that_are_not_acknowledged", CauseId::PeerDoesNotRead, Blocked,
       Likely, true, "waits until 10.0.0.2:29500 reads: 10 bytes",
       [](auto& system) { at_tcp(system).unacknowledged = 10; }},
      {"bytes_that_are_sent_again", CauseId::PeerUnreachable, Blocked, Certain,
       true, "has sent to 10.0.0.2:29500, which does not answer",
       [](auto& system) {
         auto& socket = at_tcp(system);
         socket.unacknowledged = 10;
         socket.retransmits = 3;
         socket.progress =
             TcpProgress{.last_answered = std::chrono::minutes(2)};
       }},
      {"was_sent_again_and_has_come", CauseId::PeerSilent, Blocked, Likely,
       false, "", [](auto& system) { at_tcp(system).retransmits = 3; }},
      {"an_event_loop_of_one_connection", CauseId::PeerSilent, Blocked, Likely,
       false, "",
       [](auto& system) {
         at_epoll(system, {kSocket});
         system.tcp[kSocket] = tcp(TcpState::Established);
       }},
      // ---- servers
      {"accepts", CauseId::Idle, Idle, Likely, false, "waits for a connection",
       [](auto& system) { at_tcp(system, TcpState::Listen, SYS_accept4); }},
      {"serves", CauseId::Serves, Idle, Likely, false, "waits for a connection",
       [](auto& system) {
         at_epoll(system, {kSocket});
         system.tcp[kSocket] = tcp(TcpState::Listen);
       }},
      {"serves_one_that_is_dead", CauseId::Serves, Idle, Likely, false, "",
       [](auto& system) {
         at_epoll(system, {kSocket, kSecond});
         system.tcp[kSocket] = tcp(TcpState::Listen);
         system.tcp[kSecond] = tcp(TcpState::Established);
         system.tcp[kSecond].retransmits = 9;
         system.tcp[kSecond].unacknowledged = 100;
       }},
      {"an_event_loop_of_two", CauseId::Idle, Idle, Likely, false,
       "waits for events on 2 descriptors",
       [](auto& system) {
         at_epoll(system, {kSocket, kSecond});
         system.tcp[kSocket] = tcp(TcpState::Established);
         system.tcp[kSecond] = tcp(TcpState::Established);
       }},
      {"an_event_loop_of_none", CauseId::NobodyLeft, Stuck, Likely, true,
       "waits for events, and watches no descriptor",
       [](auto& system) { at_epoll(system, {}); }},
      // ---- an event loop of asyncio that waits in another call
      {"asyncio_is_blocked", CauseId::AsyncioBlocked, Blocked, Likely, true,
       "blocks its event loop: waits for 10.0.0.2:29500",
       [](auto& system) {
         at_tcp(system);
         in_event_loop(system.at(kOne).threads.front());
       }},
      {"asyncio_sleeps", CauseId::AsyncioBlocked, Blocked, Certain, true,
       "blocks its event loop: sleeps",
       [](auto& system) {
         in_event_loop(system.python(kOne).sleeps_in(SYS_clock_nanosleep, {},
                                                     own_frames()));
       }},
      {"asyncio_got_on_a_moment_ago", CauseId::AsyncioBlocked, Blocked,
       Possible, false, "blocks its event loop: waits for events",
       [](auto& system) {
         auto& thread =
             system.python(kOne).sleeps_in(SYS_read, {5}, own_frames());
         system.at(kOne).open_pipe(5, 41);
         thread.ran = true;
         in_event_loop(thread);
       }},
      {"asyncio_works", CauseId::Runs, Running, Likely, false, "runs",
       [](auto& system) {
         auto& thread =
             system.python(kOne).sleeps_in(SYS_semtimedop, {}, own_frames());
         thread.ran = true;
         in_event_loop(thread);
       }},
  };
  return kCases;
}

INSTANTIATE_MADE_UP(Sockets, socket_cases);

}  // namespace hangdbg
