#include "injector/channels.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/checkpoint.h"

namespace hangdbg {
namespace {

constexpr auto kChannelsSpin = std::chrono::milliseconds(2);
constexpr auto kChannelsNap = std::chrono::microseconds(100);

std::unexpected<Error> left() {
  return fail(ErrorId::ChannelClosed, "the agent in the target has left");
}

Result<HdOffer> wait_for_offer(const MemoryReader& memory,
                               Address region,
                               std::uint32_t nonce,
                               Deadline deadline) {
  const Deadline spin = deadline.capped(kChannelsSpin);
  for (;;) {
    const auto seen = memory.read_value<HdRegion>(region);
    if (!seen || seen->magic != HD_MAGIC) {
      return left();
    }
    for (const HdOffer& offer : seen->offers) {
      if (offer.nonce == nonce) {
        return offer;
      }
    }
    if (seen->stage == HD_STAGE_CLOSED) {
      return left();
    }
    if (seen->refused == nonce) {
      return fail(ErrorId::Busy,
                  fmt::format("the target has {} hangdbg sessions already, and "
                              "room for no more",
                              HD_MAX_SESSIONS),
                  "end one of them: pgrep -a hangdbg");
    }
    if (deadline.expired()) {
      return fail(ErrorId::TimedOut, "the agent offers no channels");
    }
    if (spin.expired()) {
      std::this_thread::sleep_for(kChannelsNap);
    } else {
      ::sched_yield();
    }
  }
}

Status still_offered(const MemoryReader& memory,
                     Address region,
                     std::uint32_t nonce) {
  const auto seen = TRY(memory.read_value<HdRegion>(region));
  if (std::ranges::none_of(seen.offers, [&](const HdOffer& offer) {
        return offer.nonce == nonce;
      })) {
    return fail(ErrorId::TimedOut, "the agent has withdrawn its offer",
                "the machine is very busy; try again");
  }
  return {};
}

Result<Channel> fetch_channel(const FdFetcher& fetcher, int read, int write) {
  Channel channel;
  channel.read = TRY(fetcher.fetch(read, O_RDONLY | O_NONBLOCK));
  if (read == write) {
    channel.write = Fd(::fcntl(channel.read.get(), F_DUPFD_CLOEXEC, 3));
    if (!channel.write) {
      return fail_errno("cannot duplicate a channel");
    }
  } else {
    channel.write = TRY(fetcher.fetch(write, O_WRONLY | O_NONBLOCK));
  }
  return channel;
}

Status wait_until(int fd, short events, Deadline deadline) {
  pollfd one{fd, events, 0};
  const int ready = ::poll(&one, 1, deadline.left_ms());
  if (ready == 0) {
    return fail(ErrorId::TimedOut, "the agent does not answer");
  }
  return {};
}

}  // namespace

Result<FdFetcher> FdFetcher::open(int pid) {
  FdFetcher fetcher(pid);
  Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (pidfd) {
    // No process has so many: EBADF says that we may, EPERM that not.
    const long probe = ::syscall(SYS_pidfd_getfd, pidfd.get(), 0x7ffffffe, 0);
    if (probe < 0 && errno == EBADF) {
      fetcher.pidfd_ = std::move(pidfd);
    }
  }
  return fetcher;
}

Result<Fd> FdFetcher::fetch(int fd, int flags) const {
  if (pidfd_) {
    Fd fetched(
        static_cast<int>(::syscall(SYS_pidfd_getfd, pidfd_.get(), fd, 0)));
    if (!fetched) {
      return fail_errno(fmt::format("cannot fetch the target's fd {}", fd));
    }
    return fetched;
  }
  const std::string path = fmt::format("/proc/{}/fd/{}", pid_, fd);
  Fd opened(::open(path.c_str(), flags | O_CLOEXEC));
  if (!opened) {
    return fail_errno("cannot open " + path);
  }
  return opened;
}

Result<Channels> take_channels(const MemoryReader& memory,
                               Address region,
                               const FdFetcher& fetcher,
                               std::uint32_t nonce,
                               Deadline deadline) {
  const auto offer = TRY(wait_for_offer(memory, region, nonce, deadline));
  if (offer.error == -EBADF) {
    return fail(ErrorId::SeccompForbids,
                "the target's seccomp filter forbids openat, which keeps our "
                "descriptors off 0, 1 and 2 where one of them is closed");
  }
  if (offer.error != 0) {
    return fail_number(-offer.error,
                       "the target has no room for our channels and threads",
                       ErrorId::NoRoom);
  }
  Channels channels;
  channels.control =
      TRY(fetch_channel(fetcher, offer.control_read, offer.control_write));
  channels.dap = TRY(fetch_channel(fetcher, offer.dap_read, offer.dap_write));
  // An offer that is not taken is withdrawn, and its numbers may be those of
  // the program's own files before we fetch them.
  TRY(still_offered(memory, region, nonce));
  checkpoint("channels-taken");
  TRY(send_control(channels.control, {HD_CONTROL_HELLO, HD_ABI}));
  checkpoint("hello-sent");
  const auto answer = TRY(receive_control(channels.control, deadline));
  if (answer.kind == HD_CONTROL_ERROR) {
    return fail_number(static_cast<int>(answer.value),
                       "the target cannot start a thread for us",
                       ErrorId::NoRoom);
  }
  return channels;
}

Status send_control(const Channel& control, HdControlRecord record) {
  // SIGPIPE is ignored in main().
  if (::write(control.write.get(), &record, sizeof record) != sizeof record) {
    return fail_errno("the agent has left", ErrorId::ChannelClosed);
  }
  return {};
}

Result<HdControlRecord> receive_control(const Channel& control,
                                        Deadline deadline) {
  HdControlRecord record{};
  for (;;) {
    // Eight bytes are written and read whole.
    const ssize_t got = ::read(control.read.get(), &record, sizeof record);
    if (got == sizeof record) {
      return record;
    }
    if (got >= 0 || (errno != EAGAIN && errno != EINTR)) {
      return fail(ErrorId::ChannelClosed, "the agent has left");
    }
    TRY(wait_until(control.read.get(), POLLIN, deadline));
  }
}

}  // namespace hangdbg
