// The two channels between a client and the agent, and how we come by our
// ends: pipes or sockets without a name, made inside the target, fetched with
// pidfd_getfd(2) or through /proc/PID/fd. No path, no port, no listener.
#pragma once

#include <cstdint>
#include <optional>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/result.h"
#include "injector/bootstrap/shared.h"
#include "tracee/memory/address.h"
#include "tracee/memory/memory.h"

namespace hangdbg {

// A channel's end that is ours; for a socket both are the same open file.
struct Channel {
  Fd read;
  Fd write;
};

struct Channels {
  Channel control;  // HdControlRecord
  Channel dap;      // opaque bytes
};

// Fetches descriptors of one process.
class FdFetcher {
 public:
  // With pidfd_getfd where the kernel (5.6) and its filters allow that.
  static Result<FdFetcher> open(int pid);

  // Whether sockets can be fetched; else only pipes, through /proc.
  bool can_fetch_sockets() const { return static_cast<bool>(pidfd_); }

  // `flags` are open(2)'s, for the way through /proc.
  Result<Fd> fetch(int fd, int flags) const;

 private:
  explicit FdFetcher(int pid) : pid_(pid) {}

  int pid_;
  Fd pidfd_;
};

// Waits for the offer with our nonce, takes its channels, and says hello on
// the control channel. `region` is where HdRegion is.
// Errors: NoRoom (the target is out of descriptors or threads), TimedOut,
// TargetDied, ChannelClosed.
Result<Channels> take_channels(const MemoryReader& memory,
                               Address region,
                               const FdFetcher& fetcher,
                               std::uint32_t nonce,
                               Deadline deadline);

// One record each way. Errors: ChannelClosed, TimedOut.
Status send_control(const Channel& control, HdControlRecord record);
Result<HdControlRecord> receive_control(const Channel& control,
                                        Deadline deadline);

}  // namespace hangdbg
