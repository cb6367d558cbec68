// A session whose agent is a thread of this process: what happens to its events
// while a call waits and while none does.
#include "server/session/session_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>

#include "protocol/events/output.h"
#include "protocol/requests/whatis.h"
#include "tests/unit/support/processes.h"

namespace hangdbg {
namespace {

using testing::ElementsAre;

constexpr Deadline::Clock::duration kShort = std::chrono::milliseconds(20);

std::pair<Fd, Channel> channel() {
  int ends[2] = {-1, -1};
  ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
  return {Fd(ends[0]), Channel{Fd(ends[1]), Fd(::dup(ends[1]))}};
}

std::string event(const std::string& name) {
  return dap::frame(dap::to_text(dap::Event{.event = name}));
}

class FakeAgent : public testing::Test {
 protected:
  FakeAgent() {
    auto [dap, dap_ours] = channel();
    auto [control, control_ours] = channel();
    dap_ = std::move(dap);
    control_ = std::move(control);
    Injection made{
        std::make_unique<AttachTarget>(AttachTarget{PythonProcess{
            .pid = child_.pid(), .memory = LiveMemory(child_.pid())}}),
        Channels{std::move(control_ours), std::move(dap_ours)}, Steps()};
    loop_ = std::make_unique<SessionLoop>(
        std::move(made),
        Session::Hooks{.on_event =
                           [this](const dap::Event& event) {
                             if (event.event == dap::Output::event) {
                               ++outputs_;
                             }
                             return event.event == dap::Output::event;
                           },
                       .on_notice = {}});
  }

  void say(const std::string& bytes) const {
    ASSERT_EQ(::write(dap_.get(), bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
  }

  // Answers one request, with these bytes before the response.
  void answer_after(const std::string& bytes) const {
    dap::FrameDecoder decoder;
    std::optional<std::string> text;
    while (!text) {
      char chunk[4096];
      const auto size = ::read(dap_.get(), chunk, sizeof chunk);
      ASSERT_GT(size, 0);
      decoder.feed({chunk, static_cast<std::size_t>(size)});
      text = decoder.next().value();
    }
    const auto request = std::get<dap::Request>(*dap::parse_message(*text));
    say(bytes + dap::frame(dap::to_text(dap::make_response<dap::Whatis>(
                    1, request, dap::Whatis::Body{"a lock"}))));
  }

  Result<std::optional<dap::Event>> wait(Deadline deadline) {
    return loop_->run(loop_->wait_event(deadline));
  }

  std::vector<std::string> all_events() {
    std::vector<std::string> names;
    for (auto next = wait(Deadline::in(kShort)); next && *next;
         next = wait(Deadline::in(kShort))) {
      names.push_back((*next)->event);
    }
    return names;
  }

  Child child_{[] { ::pause(); }};
  Fd dap_;
  Fd control_;
  int outputs_ = 0;
  std::atomic<bool> done_ = false;
  std::unique_ptr<SessionLoop> loop_;
};

TEST_F(FakeAgent, AnEventComesThoughNoCallWaits) {
  std::thread agent([this] { say(event("stopped")); });
  const auto came = wait(patience());
  agent.join();
  ASSERT_TRUE(came && *came);
  EXPECT_EQ((*came)->event, "stopped");
}

TEST_F(FakeAgent, WhatTheHookLeavesOfACallIsKept) {
  std::thread agent([this] {
    answer_after(event("output") + event("stopped") + event("output") +
                 event("thread"));
  });
  const auto answer =
      loop_->run(loop_->agent().call<dap::Whatis>({"x", 1}, patience()));
  agent.join();
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->text, "a lock");
  EXPECT_EQ(outputs_, 2);
  EXPECT_THAT(all_events(), ElementsAre("stopped", "thread"));
}

TEST_F(FakeAgent, AWaitEndsWithItsTime) {
  const auto nothing = wait(Deadline::in(kShort));
  ASSERT_TRUE(nothing);
  EXPECT_FALSE(*nothing);
}

TEST_F(FakeAgent, AWaitIsInterruptedAndTheNextIsNot) {
  std::thread other([this] {
    while (!done_) {
      loop_->interrupt();
      ::usleep(1000);
    }
  });
  const auto interrupted = wait(patience());
  done_ = true;
  other.join();
  ASSERT_FALSE(interrupted);
  EXPECT_EQ(interrupted.error().id, ErrorId::Interrupted);
  say(event("stopped"));
  EXPECT_THAT(all_events(), ElementsAre("stopped"));
}

TEST_F(FakeAgent, TheTargetsEndEndsAWait) {
  std::thread other([this] { child_.end(); });
  const auto ended = wait(patience());
  other.join();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().id, ErrorId::TargetDied);
}

// A slow reader blocks the agent, and gets everything in order after that.
TEST(AgentConnection, IsReadNoFurtherThanItIsTaken) {
  boost::asio::io_context io;
  auto [agent, ours] = channel();
  auto [control, control_ours] = channel();
  const auto connection = AgentConnection::open(
      io, Channels{std::move(control_ours), std::move(ours)}, ::getpid());
  int sent = 0;
  for (bool full = false; !full;) {
    const std::string next = event(std::to_string(sent));
    if (::send(agent.get(), next.data(), next.size(), MSG_DONTWAIT) ==
        static_cast<ssize_t>(next.size())) {
      ASSERT_LT(++sent, 100'000);
    } else {
      io.poll();
      full = ::send(agent.get(), next.data(), next.size(), MSG_DONTWAIT) !=
             static_cast<ssize_t>(next.size());
      sent += full ? 0 : 1;
    }
  }
  int taken = 0;
  boost::asio::co_spawn(
      io,
      [&]() -> boost::asio::awaitable<void> {
        while (taken < sent) {
          const auto came = co_await connection->next_event(patience());
          EXPECT_TRUE(came && came->event == std::to_string(taken));
          ++taken;
        }
        connection->close();
      },
      [](std::exception_ptr) {});
  io.run();
  EXPECT_EQ(taken, sent);
}

}  // namespace
}  // namespace hangdbg
