// The rules of the diagnosis about the owner of the other end of a socket, and
// about DNS and UDP, on processes that are made up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "diagnosis/diagnose.h"
#include "tests/unit/support/made_up_cases.h"

namespace hangdbg {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t kOurs = 42;
constexpr std::uint64_t kTheirs = 50;     // the other end
constexpr std::uint64_t kListening = 60;  // of theirs
constexpr std::uint64_t kForever = ~0ULL;

void watch(MadeUpProcess& of,
           int set,
           const std::vector<std::pair<int, std::uint64_t>>& sockets) {
  OpenFile epoll{.fd = set, .kind = FileKind::Epoll};
  for (const auto& [fd, inode] : sockets) {
    of.open_socket(fd, inode);
    epoll.watches.push_back({.fd = fd, .events = POLLIN});
  }
  of.files[set] = epoll;
}

// It receives from a TCP connection whose other end a process has, if any.
MadeUpProcess& receives(MadeUpSystem& system,
                        std::vector<SocketFd> holders = {{kOther, 8}},
                        long call = SYS_recvfrom) {
  auto& one = system.python(kOne);
  one.sleeps_in(call, {5}, own_frames());
  one.open_socket(5, kOurs);
  system.tcp[kOurs] = {.inode = kOurs,
                       .local = SocketAddress::v4({127, 0, 0, 1}, 40000),
                       .remote = SocketAddress::v4({127, 0, 0, 1}, 6379),
                       .state = TcpState::Established};
  system.other_ends[kOurs] = {
      .inodes = {kTheirs}, .holders = std::move(holders), .user = 999};
  return one;
}

// That connection is not accepted yet.
MadeUpProcess& is_not_accepted(MadeUpSystem& system,
                               std::vector<SocketFd> holders = {{kOther, 3}}) {
  auto& one = receives(system, std::move(holders));
  auto& peer = system.other_ends[kOurs];
  peer.inodes = {kListening};
  peer.accepted = false;
  peer.waiting = 1;
  peer.room = 5;
  peer.name = "127.0.0.1:6379";
  return one;
}

// Its main thread waits for connections and their data, another one for
// something unknown.
MadeUpProcess& is_idle_server(MadeUpSystem& system) {
  auto& other = system.process(kOther);
  other.sleeps_in(SYS_epoll_wait, {6, 0, 0, kForever});
  other.sleeps_in(SYS_semtimedop, {});
  watch(other, 6, {{7, kListening}, {8, kTheirs}});
  system.tcp[kListening] = {.inode = kListening, .state = TcpState::Listen};
  return other;
}

// A thread of Python that handles that socket, in its variable `request`.
ThreadSnapshot& handles(MadeUpSystem& system, MadeUpProcess& of, int fd) {
  auto& thread = of.sleeps_in(SYS_semtimedop, {}, own_frames());
  system.objects.give(thread.stack.frames.front(),
                      {{"request", system.objects.socket(fd)}});
  return thread;
}

// It waits for a UDP socket, by poll() with a timeout.
MadeUpProcess& at_udp(MadeUpSystem& system,
                      std::uint16_t port,
                      std::vector<PythonFrame> frames = own_frames()) {
  static pollfd polled{.fd = 5, .events = POLLIN, .revents = 0};
  auto& one = system.python(kOne);
  one.sleeps_in(SYS_poll, {reinterpret_cast<std::uintptr_t>(&polled), 1, 5000},
                std::move(frames));
  one.open_socket(5, kOurs);
  system.udp[kOurs] = {.inode = kOurs,
                       .local = SocketAddress::v4({10, 0, 0, 1}, 40000),
                       .state = TcpState::Close};
  if (port != 0) {
    system.udp[kOurs].remote = SocketAddress::v4({10, 0, 0, 2}, port);
  }
  return one;
}

// An event loop with its wakeup pair of sockets, and one connection.
MadeUpProcess& at_loop(MadeUpSystem& system, std::uint64_t time = kForever) {
  auto& one = receives(system);
  one.threads.clear();
  one.sleeps_in(SYS_epoll_wait, {6, 0, 0, time},
                called({{"selectors.py", "select"}}));
  watch(one, 6, {{5, kOurs}, {9, 43}});
  system.other_ends[43] = {.inodes = {44}, .holders = {{kOne, 10}}};
  return one;
}

void calls_grpc(MadeUpSystem& system, const std::string& target) {
  const bool known = system.snapshot(kOne) != nullptr;
  auto& one = known ? system.at(kOne) : system.python(kOne);
  auto frames = called({{"site-packages/grpc/_channel.py", "_blocking"}});
  one.sleeps_in(SYS_epoll_wait, {6, 0, 0, 200}, std::move(frames));
  one.files[6] = {.fd = 6, .kind = FileKind::Epoll};
  one.reprs[{"_blocking", "self._method"}] = "b'/pkg.Service/Get'";
  one.reprs[{"_blocking", "self._target"}] = target;
}

sockaddr_un& address_of(const char* path) {
  static sockaddr_un address;
  address = {.sun_family = AF_UNIX, .sun_path = {}};
  std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  return address;
}

}  // namespace

const std::vector<MadeUpCase>& peer_cases() {
  using enum Progress;
  using enum Confidence;
  static const std::vector<MadeUpCase> kCases = {
      // ---- the owner of the other end, and its thread
      {"of_a_server_that_is_idle", CauseId::PeerSilent, Blocked, Likely, false,
       "waits for what process 99999902 sends over TCP (127.0.0.1:6379), which "
       "waits for events",
       [](auto& system) {
         receives(system);
         is_idle_server(system);
       }},
      {"of_a_server_that_is_stopped", CauseId::PeerSilent, Blocked, Likely,
       true, "sends over TCP (127.0.0.1:6379)",
       [](auto& system) {
         receives(system);
         for (auto& thread : is_idle_server(system).threads) {
           thread.wait.state = 'T';
         }
       }},
      {"of_a_server_that_works", CauseId::PeerSilent, Blocked, Likely, false,
       "",
       [](auto& system) {
         receives(system);
         auto& thread = system.process(kOther).sleeps_in(SYS_read, {});
         thread.wait.state = 'R';
         thread.wait.call.running = true;
       }},
      {"of_a_thread_that_is_not_known", CauseId::PeerSilent, Blocked, Possible,
       false, "what process 99999902 sends over TCP",
       [](auto& system) {
         receives(system);
         auto& other = system.process(kOther);
         other.sleeps_in(SYS_clock_nanosleep, {});
         other.sleeps_in(SYS_semtimedop, {});
       }},
      {"of_a_thread_that_has_it_in_a_variable", CauseId::PeerSilent, Blocked,
       Likely, true, "what process 99999902 sends over TCP",
       [](auto& system) {
         receives(system);
         auto& other = system.python(kOther);
         other.sleeps_in(SYS_clock_nanosleep, {}, own_frames());
         handles(system, other, 8);
       }},
      {"of_a_thread_that_has_another_socket", CauseId::PeerSilent, Blocked,
       Possible, false, "",
       [](auto& system) {
         receives(system);
         auto& other = system.python(kOther);
         other.sleeps_in(SYS_clock_nanosleep, {}, own_frames());
         handles(system, other, 11);
       }},
      {"both_ends_are_read", CauseId::PeerSilent, Blocked, Likely, true,
       "which itself waits for data from it",
       [](auto& system) {
         receives(system);
         auto& other = system.process(kOther);
         other.sleeps_in(SYS_recvfrom, {8});
         other.open_socket(8, kTheirs);
         system.tcp[kTheirs] = system.tcp[kOurs];
         system.tcp[kTheirs].inode = kTheirs;
         system.other_ends[kTheirs] = {.inodes = {kOurs},
                                       .holders = {{kOne, 5}}};
       }},
      {"both_ends_are_read_and_others_may_write", CauseId::PeerSilent, Blocked,
       Possible, false, "what process 99999902 sends over TCP",
       [](auto& system) {
         receives(system);
         auto& other = system.process(kOther);
         other.sleeps_in(SYS_accept4, {7});
         other.sleeps_in(SYS_recvfrom, {8});
         other.open_socket(7, kListening);
         other.open_socket(8, kTheirs);
         system.tcp[kListening] = {.inode = kListening,
                                   .state = TcpState::Listen};
         system.tcp[kTheirs] = system.tcp[kOurs];
         system.tcp[kTheirs].inode = kTheirs;
         system.other_ends[kTheirs] = {.inodes = {kOurs},
                                       .holders = {{kOne, 5}}};
       }},
      {"two_processes_have_the_other_end", CauseId::PeerSilent, Blocked,
       Possible, false, "or another of 2 processes, sends over TCP",
       [](auto& system) {
         receives(system, {{kOther, 8}, {kThird, 8}});
         system.process(kOther).sleeps_in(SYS_clock_nanosleep, {});
         system.process(kThird).sleeps_in(SYS_clock_nanosleep, {});
       }},
      {"the_other_end_may_not_be_seen", CauseId::PeerSilent, Blocked, Likely,
       false, "which sends nothing; the owner of the other end cannot be seen",
       [](auto& system) { receives(system, {}); }},
      {"sends_to_who_sleeps", CauseId::PeerDoesNotRead, Blocked, Likely, false,
       "waits until process 99999902 reads from TCP (127.0.0.1:6379)",
       [](auto& system) {
         receives(system, {{kOther, 8}}, SYS_sendto);
         system.tcp[kOurs].unacknowledged = 100;
         system.process(kOther).sleeps_in(SYS_clock_nanosleep, {});
       }},
      {"what_was_sent_is_on_its_way", CauseId::PeerSilent, Blocked, Likely,
       false, "waits for 127.0.0.1:6379, which sends nothing",
       [](auto& system) {
         receives(system, {});
         system.tcp[kOurs].unacknowledged = 100;
         system.tcp[kOurs].timer = TcpTimer::Retransmit;
       }},
      {"bytes_have_come", CauseId::Runs, Running, Likely, false,
       "is about to read 7 bytes from 127.0.0.1:6379",
       [](auto& system) {
         receives(system);
         system.tcp[kOurs].unread = 7;
       }},
      // ---- the accept queue
      {"is_not_accepted", CauseId::PeerSilent, Blocked, Likely, false,
       "waits for process 99999902 to accept its connection to 127.0.0.1:6379",
       [](auto& system) {
         is_not_accepted(system);
         system.process(kOther).sleeps_in(SYS_clock_nanosleep, {});
       }},
      {"is_not_accepted_yet", CauseId::PeerSilent, Blocked, Likely, false,
       "which waits for connections",
       [](auto& system) {
         is_not_accepted(system);
         is_idle_server(system);
       }},
      {"asks_itself", CauseId::PeerSilent, Blocked, Likely, true,
       "waits for its own connection to 127.0.0.1:6379, which only this thread",
       [](auto& system) {
         is_not_accepted(system, {{kOne, 3}});
       }},
      {"asks_itself_and_another_thread_accepts", CauseId::PeerSilent, Blocked,
       Likely, false, "waits for another thread of this process to accept",
       [](auto& system) {
         auto& one = is_not_accepted(system, {{kOne, 3}});
         one.sleeps_in(SYS_accept4, {3});
         one.open_socket(3, kListening);
         system.tcp[kListening] = {.inode = kListening,
                                   .state = TcpState::Listen};
       }},
      {"asks_itself_and_has_threads", CauseId::PeerSilent, Blocked, Possible,
       false, "waits for another thread of this process to accept",
       [](auto& system) {
         is_not_accepted(system, {{kOne, 3}})
             .sleeps_in(SYS_clock_nanosleep, {});
       }},
      {"connects_to_itself_without_room", CauseId::PeerUnreachable, Blocked,
       Certain, true, "is full, and only this thread itself can accept",
       [](auto& system) {
         is_not_accepted(system, {{kOne, 3}});
         system.other_ends[kOurs].waiting = 6;
         system.tcp[kOurs].state = TcpState::SynSent;
       }},
      {"connects_to_who_does_not_accept", CauseId::PeerUnreachable, Blocked,
       Possible, false,
       "connects to 127.0.0.1:6379, which does not answer: its accept queue "
       "is full, and process 99999902 does not accept",
       [](auto& system) {
         is_not_accepted(system);
         system.other_ends[kOurs].waiting = 6;
         system.tcp[kOurs].state = TcpState::SynSent;
         system.process(kOther).sleeps_in(SYS_clock_nanosleep, {});
       }},
      {"a_unix_socket_that_is_not_accepted", CauseId::PeerSilent, Blocked,
       Likely, false,
       "waits for process 99999902 to accept its connection to /",
       [](auto& system) {
         is_not_accepted(system);
         system.other_ends[kOurs].name = "/run/x";
         system.tcp.clear();
         system.process(kOther).sleeps_in(SYS_clock_nanosleep, {});
       }},
      {"a_unix_socket_without_room", CauseId::PeerSilent, Blocked, Likely,
       false, "its accept queue is full, and process 99999902 does not accept",
       [](auto& system) {
         auto& one = system.python(kOne);
         const auto place =
             reinterpret_cast<std::uintptr_t>(&address_of("/run/x"));
         one.sleeps_in(SYS_connect, {5, place, sizeof(sockaddr_un)},
                       own_frames());
         one.open_socket(5, kOurs);
         system.unix_servers["/run/x"] = {.inodes = {kListening},
                                          .holders = {{kOther, 3}},
                                          .accepted = false,
                                          .waiting = 2,
                                          .room = 1,
                                          .name = "/run/x"};
         system.process(kOther).sleeps_in(SYS_clock_nanosleep, {});
       }},
      // ---- an event loop of one connection
      {"a_loop_that_waits_for_one_peer", CauseId::PeerSilent, Blocked, Likely,
       false, "what process 99999902 sends over TCP",
       [](auto& system) {
         at_loop(system);
         system.process(kOther).sleeps_in(SYS_clock_nanosleep, {});
       }},
      {"a_loop_with_a_timer", CauseId::Idle, Idle, Likely, false,
       "waits for events on 2 descriptors",
       [](auto& system) { at_loop(system, 1000); }},
      {"a_loop_that_another_thread_may_wake", CauseId::Idle, Idle, Likely,
       false, "waits for events on 2 descriptors",
       [](auto& system) {
         at_loop(system).sleeps_in(SYS_semtimedop, {}, own_frames());
       }},
      // ---- gRPC
      {"a_call_of_grpc", CauseId::PeerSilent, Blocked, Likely, false,
       "waits for the answer to /pkg.Service/Get of gRPC from db:443",
       [](auto& system) { calls_grpc(system, "b'db:443'"); }},
      {"a_call_of_grpc_to_a_process_here", CauseId::PeerSilent, Blocked,
       Possible, false,
       "of gRPC: waits for what process 99999902 sends over TCP (h:6379)",
       [](auto& system) {
         receives(system).threads.clear();
         calls_grpc(system, "b'h:6379'");
         system.process(kOther).sleeps_in(SYS_clock_nanosleep, {});
       }},
      // ---- DNS
      {"a_dns_server", CauseId::Dns, Blocked, Likely, true,
       "waits for the DNS server 10.0.0.2:53, which does not answer",
       [](auto& system) { at_udp(system, 53); }},
      {"a_dns_server_and_the_name", CauseId::Dns, Blocked, Likely, true,
       "which does not answer: it looks up db.internal",
       [](auto& system) {
         at_udp(system, 53, called({{"socket.py", "getaddrinfo"}}))
             .texts[{"getaddrinfo", "host"}] = "db.internal";
       }},
      {"a_dns_server_that_was_just_asked", CauseId::Dns, Blocked, Possible,
       false, "which has not answered yet",
       [](auto& system) {
         at_udp(system, 53).threads.front().wait.asleep_s = 0.1;
       }},
      {"a_dns_server_by_tcp", CauseId::Dns, Blocked, Likely, true,
       "waits for the DNS server 127.0.0.1:53",
       [](auto& system) {
         receives(system, {});
         system.tcp[kOurs].remote.port = 53;
       }},
      {"a_dns_server_of_musl", CauseId::Dns, Blocked, Likely, true,
       "DNS server",
       [](auto& system) {
         auto& one = at_udp(system, 0);
         one.is_in(one.threads.front(), {"poll", "__res_msend_rc"},
                   "ld-musl-x86_64.so.1");
       }},
      {"a_dns_server_here_that_sleeps", CauseId::Dns, Blocked, Likely, false,
       "waits for the DNS server 10.0.0.2:53",
       [](auto& system) {
         at_udp(system, 53);
         system.other_ends[kOurs] = {.holders = {{kOther, 4}}};
         system.process(kOther).sleeps_in(SYS_clock_nanosleep, {});
       }},
      {"a_loop_that_looks_a_name_up", CauseId::Dns, Blocked, Likely, true,
       "waits for the DNS server 10.0.0.2:53",
       [](auto& system) {
         at_loop(system, 1000);
         system.tcp.clear();
         system.udp[kOurs] = {.inode = kOurs,
                              .remote = SocketAddress::v4({10, 0, 0, 2}, 53)};
       }},
      // ---- UDP
      {"a_server_of_udp", CauseId::Idle, Idle, Likely, false,
       "waits for a UDP packet at 10.0.0.1:40000",
       [](auto& system) { at_udp(system, 0); }},
      {"a_peer_of_udp", CauseId::PeerSilent, Blocked, Likely, false,
       "waits for a UDP packet from 10.0.0.2:8125, which sends none",
       [](auto& system) { at_udp(system, 8125); }},
      {"a_peer_of_udp_that_sleeps", CauseId::PeerSilent, Blocked, Possible,
       false, "waits for what process 99999902 sends over UDP (10.0.0.2:8125)",
       [](auto& system) {
         at_udp(system, 8125);
         system.other_ends[kOurs] = {.holders = {{kOther, 4}}};
         system.process(kOther).sleeps_in(SYS_clock_nanosleep, {});
       }},
  };
  return kCases;
}

INSTANTIATE_MADE_UP(Peers, peer_cases);

namespace {

TEST(CausesOfPeers, WhatIsSeenOfTheOtherEnd) {
  MadeUpSystem system;
  is_not_accepted(system, {{kOne, 3}});
  system.other_ends[kOurs].unread = 78;
  const Cause cause = cause_of(system, kOne);
  EXPECT_THAT(cause.evidence,
              Contains("not accepted yet: it is in the accept queue of "
                       "127.0.0.1:6379: Recv-Q 1, backlog 5"));
  EXPECT_THAT(cause.evidence,
              Contains("78 bytes that were sent to the other end are unread"));
  EXPECT_EQ(cause.blocked_by, std::vector<ThreadId>({{kOne, kOne}}));
  const auto found = diagnose(system, kOne, 1000);
  EXPECT_EQ(found->cause.id, CauseId::Deadlock);
  EXPECT_EQ(found->cause.progress, Progress::Stuck);
}

TEST(CausesOfPeers, WhoIsStoppedDoesNotWait) {
  MadeUpSystem system;
  receives(system);
  for (auto& thread : is_idle_server(system).threads) {
    thread.wait.state = 'T';
  }
  EXPECT_THAT(cause_of(system, kOne).summary, Not(HasSubstr("events")));
  EXPECT_EQ(diagnose(system, kOne, 1000)->cause.id, CauseId::Stopped);
}

// It accepts, and still has a socket in a variable that another thread handles.
TEST(CausesOfPeers, WhoAcceptsDoesNotHandle) {
  MadeUpSystem system;
  receives(system);
  auto& other = system.python(kOther);
  handles(system, other, 8).wait.call.number = SYS_accept4;
  other.threads.front().wait.syscall = "accept4";
  const ThreadId handler = handles(system, other, 8).id;
  EXPECT_EQ(cause_of(system, kOne).blocked_by, std::vector<ThreadId>{handler});
}

TEST(CausesOfPeers, WhatTcpSaysOfOneThatIsNotSeen) {
  MadeUpSystem system;
  receives(system, {});
  auto& socket = system.tcp[kOurs];
  system.other_ends.clear();
  socket.progress =
      TcpProgress{.last_received = std::chrono::minutes(2), .received = 0};
  EXPECT_THAT(cause_of(system, kOne).evidence,
              Contains(HasSubstr("no data has come from it since")));
  EXPECT_THAT(cause_of(system, kOne).evidence,
              Contains(HasSubstr("keep-alive is off")));
  socket.progress->received = 9;
  socket.timer = TcpTimer::KeepAlive;
  EXPECT_THAT(cause_of(system, kOne).evidence,
              Contains(HasSubstr("last data from it 2 min")));
  EXPECT_THAT(cause_of(system, kOne).evidence,
              Contains(HasSubstr("keep-alive is on")));
}

TEST(CausesOfPeers, AThreadLooksANameUpForALoop) {
  MadeUpSystem system;
  at_udp(system, 53).threads.clear();
  auto& one = system.at(kOne);
  one.sleeps_in(SYS_epoll_wait, {6, 0, 0, kForever}, own_frames());
  watch(one, 6, {{9, 43}});
  system.other_ends[43] = {.inodes = {44}, .holders = {{kOne, 10}}};
  EXPECT_EQ(cause_of(system, kOne).id, CauseId::Idle);
  static pollfd polled{.fd = 5, .events = POLLIN, .revents = 0};
  one.sleeps_in(SYS_poll, {reinterpret_cast<std::uintptr_t>(&polled), 1, 5000});
  const Cause cause = cause_of(system, kOne);
  EXPECT_EQ(cause.id, CauseId::Dns);
  EXPECT_EQ(cause.confidence, Confidence::Possible);
}

// A cycle is no deadlock if a timeout may end one of its waits.
TEST(CausesOfPeers, WhoGivesUpByItselfIsInNoDeadlock) {
  MadeUpSystem system;
  is_not_accepted(system, {{kOne, 3}});
  static pollfd polled{.fd = 5, .events = POLLIN, .revents = 0};
  system.at(kOne).threads.clear();
  system.at(kOne).sleeps_in(
      SYS_poll, {reinterpret_cast<std::uintptr_t>(&polled), 1, 30000},
      own_frames());
  const auto found = diagnose(system, kOne, 1000);
  EXPECT_EQ(found->cause.id, CauseId::PeerSilent);
  EXPECT_EQ(found->cause.progress, Progress::Blocked);
  EXPECT_FALSE(found->stalled);
}

}  // namespace
}  // namespace hangdbg
