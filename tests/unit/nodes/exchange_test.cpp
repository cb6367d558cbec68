// Two nodes of a probe on this machine's loopback, one of them or a stranger
// being wrong.
#include "nodes/probing/exchange.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <future>
#include <string>

#include "nodes/probing/segments.h"
#include "nodes/probing/wire.h"

namespace hangdbg {
namespace {

const std::string kSecret(kProbeSecret, 'a');
const Deadline::Clock::duration kLong = std::chrono::seconds(60);

ProbeTarget at(std::uint16_t port, std::optional<int> node) {
  return {.address = "127.0.0.1", .port = port, .node = node};
}

// A foreign listener that has answered each connection with `words`.
struct Stranger {
  ProbeListener listener = *open_probe_listener(0);
  std::string words;

  void serve_one() {
    for (;;) {
      const Fd socket(::accept(listener.socket.get(), nullptr, nullptr));
      if (socket) {
        ::send(socket.get(), words.data(), words.size(), MSG_NOSIGNAL);
        std::array<char, 4096> buffer;
        ::shutdown(socket.get(), SHUT_WR);
        while (::recv(socket.get(), buffer.data(), buffer.size(), 0) > 0) {
        }
        return;
      }
    }
  }
};

TEST(Exchange, TwoNodesReachEachOther) {
  auto first = *open_probe_listener(0);
  auto second = *open_probe_listener(0);
  const std::vector<ProbeTarget> to_second = {at(second.port, 1)};
  const std::vector<ProbeTarget> to_first = {at(first.port, 0)};
  auto other = std::async(std::launch::async, [&] {
    return exchange_with_nodes(std::move(second),
                               {.secret = kSecret, .number = 1, .count = 2},
                               to_first, Deadline::in(kLong));
  });
  const auto seen = exchange_with_nodes(
      std::move(first), {.secret = kSecret, .number = 0, .count = 2}, to_second,
      Deadline::in(kLong));
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].reach, Reach::Whole);
  EXPECT_GT(seen[0].segment, 500);
  EXPECT_EQ(other.get()[0].reach, Reach::Whole);
}

TEST(Exchange, AnotherNodeAndAnotherProgramAreToldApart) {
  Stranger program{.words = "HTTP/1.1 400 Bad Request\r\n\r\n" +
                            std::string(kProbeGreeting, ' ')};
  Stranger node{.words = probe_greeting(kSecret, 3)};
  auto serving = std::async(std::launch::async, [&] {
    program.serve_one();
    node.serve_one();
  });
  const auto seen = exchange_with_nodes(
      *open_probe_listener(0), {.secret = kSecret, .number = 0, .count = 1},
      {at(program.listener.port, 1), at(node.listener.port, 2)},
      Deadline::in(kLong));
  serving.get();
  EXPECT_EQ(seen[0].reach, Reach::OtherProgram);
  EXPECT_EQ(seen[1].reach, Reach::OtherNode);
  EXPECT_EQ(seen[1].other_node, 3);
}

TEST(Exchange, AServiceIsConnectedToAndLeft) {
  const auto service = *open_probe_listener(0);
  std::uint16_t gone = 0;
  { gone = open_probe_listener(0)->port; }
  const auto seen = exchange_with_nodes(
      *open_probe_listener(0), {.secret = kSecret, .number = 0, .count = 1},
      {at(service.port, {}), at(gone, {}), {.address = "no address"}},
      Deadline::in(kLong));
  EXPECT_EQ(seen[0].reach, Reach::Accepted);
  EXPECT_EQ(seen[1].reach, Reach::Refused);
  EXPECT_EQ(seen[2].reach, Reach::NoRoute);
}

// Its backlog takes the connection, which is never accepted.
TEST(Exchange, WhoDoesNotSpeakIsSilentAtTheDeadline) {
  const auto silent = *open_probe_listener(0);
  const auto seen = exchange_with_nodes(
      *open_probe_listener(0), {.secret = kSecret, .number = 0, .count = 1},
      {at(silent.port, 1)}, Deadline::in(std::chrono::milliseconds(300)));
  EXPECT_EQ(seen[0].reach, Reach::Silent);
}

TEST(Exchange, AGreetingIsOfOneProbe) {
  EXPECT_EQ(read_probe_greeting(probe_greeting(kSecret, 7), kSecret), 7);
  EXPECT_FALSE(read_probe_greeting(probe_greeting(kSecret, 7),
                                   std::string(kProbeSecret, 'b')));
  EXPECT_FALSE(read_probe_greeting("hangdbg-probe", kSecret));
  EXPECT_EQ(probe_greeting(kSecret, 7).size(), kProbeGreeting);
}

}  // namespace
}  // namespace hangdbg
