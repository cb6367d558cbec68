// The control channel and how its ends are fetched; the agent at the other end
// is a socket pair of this process.
#include "injector/channels.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "tests/unit/support/processes.h"

namespace hangdbg {
namespace {

using std::chrono::milliseconds;

constexpr Deadline::Clock::duration kShort = milliseconds(20);

class ControlChannel : public testing::Test {
 protected:
  ControlChannel() {
    int ends[2] = {-1, -1};
    ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends);
    ours_.read = Fd(ends[0]);
    ours_.write = Fd(::dup(ends[0]));
    agent_ = Fd(ends[1]);
    // As main() has it.
    before_ = ::signal(SIGPIPE, SIG_IGN);
  }
  ~ControlChannel() override { ::signal(SIGPIPE, before_); }

  Channel ours_;
  Fd agent_;

 private:
  sighandler_t before_ = SIG_DFL;
};

TEST_F(ControlChannel, RecordsComeInTheirOrder) {
  send(agent_, HdControlRecord{HD_CONTROL_STAGE, 3});
  send(agent_, HdControlRecord{HD_CONTROL_ERROR, EAGAIN});
  const auto first = receive_control(ours_, patience());
  ASSERT_TRUE(first) << first.error().text();
  EXPECT_EQ(first->kind, HD_CONTROL_STAGE);
  EXPECT_EQ(first->value, 3);
  const auto second = receive_control(ours_, patience());
  ASSERT_TRUE(second) << second.error().text();
  EXPECT_EQ(second->kind, HD_CONTROL_ERROR);
  EXPECT_EQ(second->value, EAGAIN);
}

TEST_F(ControlChannel, WaitsForARecord) {
  const int waiting = ::gettid();
  std::thread agent([&] {
    EXPECT_TRUE(sleeps_in(::getpid(), waiting, "poll"));
    send(agent_, HdControlRecord{HD_CONTROL_STAGE, 1});
  });
  const auto record = receive_control(ours_, patience());
  agent.join();
  ASSERT_TRUE(record) << record.error().text();
  EXPECT_EQ(record->kind, HD_CONTROL_STAGE);
}

TEST_F(ControlChannel, ASilentAgentCostsTheDeadline) {
  const auto start = Deadline::Clock::now();
  const auto record = receive_control(ours_, Deadline::in(kShort));
  ASSERT_FALSE(record);
  EXPECT_EQ(record.error().id, ErrorId::TimedOut);
  EXPECT_GE(Deadline::Clock::now() - start, kShort);
}

TEST_F(ControlChannel, TheAgentsEndIsTheChannels) {
  agent_.reset();
  const auto record = receive_control(ours_, patience());
  ASSERT_FALSE(record);
  EXPECT_EQ(record.error().id, ErrorId::ChannelClosed);
  const auto sent = send_control(ours_, {HD_CONTROL_STATUS, 0});
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().id, ErrorId::ChannelClosed);
}

TEST_F(ControlChannel, TheAgentEndsWhileWeWait) {
  const int waiting = ::gettid();
  std::thread agent([&] {
    EXPECT_TRUE(sleeps_in(::getpid(), waiting, "poll"));
    ::shutdown(agent_.get(), SHUT_RDWR);
  });
  const auto record = receive_control(ours_, patience());
  agent.join();
  ASSERT_FALSE(record);
  EXPECT_EQ(record.error().id, ErrorId::ChannelClosed);
}

TEST_F(ControlChannel, HalfARecordIsNone) {
  send(agent_, std::uint32_t{HD_CONTROL_STAGE});
  const auto record = receive_control(ours_, patience());
  ASSERT_FALSE(record);
  EXPECT_EQ(record.error().id, ErrorId::ChannelClosed);
}

TEST_F(ControlChannel, SendsARecord) {
  ASSERT_TRUE(send_control(ours_, {HD_CONTROL_CANCEL, 7}));
  const auto record = receive<HdControlRecord>(agent_);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->kind, HD_CONTROL_CANCEL);
  EXPECT_EQ(record->value, 7);
}

TEST(FdFetcher, FetchesWhatAnotherProcessHasOpen) {
  Pipe told;
  const Child child([&] {
    Pipe own;
    send(own.write, 4711);
    send(told.write, own.read.get());
    ::pause();
  });
  const auto number = receive<int>(told.read);
  ASSERT_TRUE(number);
  const auto fetcher = FdFetcher::open(child.pid());
  ASSERT_TRUE(fetcher) << fetcher.error().text();
  const auto fetched = fetcher->fetch(*number, O_RDONLY | O_NONBLOCK);
  ASSERT_TRUE(fetched) << fetched.error().text();
  EXPECT_EQ(receive<int>(*fetched), 4711);
  const auto missing = fetcher->fetch(999, O_RDONLY);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("999"), std::string::npos);
}

// A whole handshake, with the region and the agent's ends in this process.
class Handshake : public ControlChannel {
 protected:
  static constexpr std::uint32_t kNonce = 77;

  Handshake() { region_.magic = HD_MAGIC; }

  Result<Channels> take(Deadline deadline) {
    const auto fetcher = TRY(FdFetcher::open(::getpid()));
    return take_channels(LiveMemory(::getpid()),
                         Address{reinterpret_cast<std::uintptr_t>(&region_)},
                         fetcher, kNonce, deadline);
  }

  HdOffer offer() const {
    const int fd = ours_.read.get();
    return {kNonce, 0, fd, fd, fd, fd};
  }

  HdRegion region_{};
};

TEST_F(Handshake, SaysHelloAndGetsTheChannels) {
  region_.offers[3] = offer();
  send(agent_, HdControlRecord{HD_CONTROL_STAGE, 0});
  const auto channels = take(patience());
  ASSERT_TRUE(channels) << channels.error().text();
  const auto hello = receive<HdControlRecord>(agent_);
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->kind, HD_CONTROL_HELLO);
  EXPECT_EQ(hello->value, HD_ABI);
  ASSERT_TRUE(send_control(channels->control, {HD_CONTROL_STATUS, 0}));
  EXPECT_EQ(receive<HdControlRecord>(agent_)->kind, HD_CONTROL_STATUS);
}

TEST_F(Handshake, OthersOffersAreNotOurs) {
  region_.offers[0] = offer();
  region_.offers[0].nonce = kNonce + 1;
  const auto channels = take(Deadline::in(kShort));
  ASSERT_FALSE(channels);
  EXPECT_EQ(channels.error().id, ErrorId::TimedOut);
}

TEST_F(Handshake, ATargetWithoutDescriptorsHasNoRoom) {
  region_.offers[0] = offer();
  region_.offers[0].error = -EMFILE;
  const auto channels = take(patience());
  ASSERT_FALSE(channels);
  EXPECT_EQ(channels.error().id, ErrorId::NoRoom);
  EXPECT_EQ(channels.error().errno_value, EMFILE);
}

TEST_F(Handshake, ATargetWithoutThreadsHasNoRoom) {
  region_.offers[0] = offer();
  send(agent_, HdControlRecord{HD_CONTROL_ERROR, EAGAIN});
  const auto channels = take(patience());
  ASSERT_FALSE(channels);
  EXPECT_EQ(channels.error().id, ErrorId::NoRoom);
  EXPECT_EQ(channels.error().errno_value, EAGAIN);
}

TEST_F(Handshake, AnAgentThatHasLeft) {
  const auto refusal = [&] {
    const auto channels = take(patience());
    return channels ? ErrorId::System : channels.error().id;
  };
  region_.stage = HD_STAGE_CLOSED;
  EXPECT_EQ(refusal(), ErrorId::ChannelClosed);
  region_.stage = HD_STAGE_SERVING;
  region_.offers[0] = offer();
  region_.magic = 0;  // reused memory by now
  EXPECT_EQ(refusal(), ErrorId::ChannelClosed);
}

// The region at the first read, and the same without the offer after it.
class Withdrawn final : public MemoryReader {
 public:
  explicit Withdrawn(const HdRegion& region) : region_(region) {}
  Status read(Address, std::span<std::byte> out) const override {
    std::memcpy(out.data(), &region_, std::min(out.size(), sizeof region_));
    for (HdOffer& offer : region_.offers) {
      offer.nonce = 0;
    }
    return {};
  }

 private:
  mutable HdRegion region_;
};

// Its descriptors may be reused by the program before hangdbg has them.
TEST_F(Handshake, AnOfferWithdrawnMeanwhileIsNotTaken) {
  region_.offers[0] = offer();
  send(agent_, HdControlRecord{HD_CONTROL_STAGE, 0});
  const auto fetcher = FdFetcher::open(::getpid());
  ASSERT_TRUE(fetcher);
  const auto channels = take_channels(Withdrawn(region_), Address{0x1000},
                                      *fetcher, kNonce, patience());
  ASSERT_FALSE(channels);
  EXPECT_EQ(channels.error().id, ErrorId::TimedOut);
  EXPECT_FALSE(receive<HdControlRecord>(agent_, Deadline::in(kShort)));
}

TEST_F(Handshake, ARegionThatIsGone) {
  const auto fetcher = FdFetcher::open(::getpid());
  ASSERT_TRUE(fetcher);
  const auto channels = take_channels(FakeMemory(), Address{0x1000}, *fetcher,
                                      kNonce, patience());
  ASSERT_FALSE(channels);
  EXPECT_EQ(channels.error().id, ErrorId::ChannelClosed);
}

}  // namespace
}  // namespace hangdbg
