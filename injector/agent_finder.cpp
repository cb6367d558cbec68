#include "injector/agent_finder.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/log.h"
#include "injector/bootstrap/shared.h"
#include "injector/checks/thread_choice.h"
#include "tracee/proc/proc_tasks.h"
#include "tracee/proc/task_ids.h"

namespace hangdbg {
namespace {

// For how long a control thread is at work at most, when it is given a CPU.
constexpr auto kPatience = std::chrono::milliseconds(50);
constexpr auto kAgentFinderNap = std::chrono::microseconds(200);

// The control thread waits in a poll(2) that the image's own code entered, so
// its PC tells where the image is; the name tells which thread to ask.
std::optional<Address> image_of(const AttachTarget& target, int tid) {
  const Deadline patience = Deadline::in(kPatience);
  auto call = read_task_syscall(target.pid, tid);
  while (call && call->running && !patience.expired()) {
    std::this_thread::sleep_for(kAgentFinderNap);
    call = read_task_syscall(target.pid, tid);
  }
  if (!call || call->running) {
    return {};
  }
  // Mapped after the target's maps were read, maybe.
  const auto maps = read_maps(target.pid);
  if (!maps) {
    return {};
  }
  for (const Mapping& mapping : *maps) {
    if (mapping.contains(call->pc)) {
      return mapping.start;
    }
  }
  return {};
}

Address region_of(Address image, const HdImageHeader& header) {
  return image + (header.image_size + std::uint64_t{4095}) / 4096 * 4096;
}

// It was sent there by a client that died (hold.cpp), or was just about to be.
bool may_still_come(const AttachTarget& target,
                    const HdRegion& region,
                    AddressRange image) {
  const auto tasks = TaskIds::read(target.pid);
  return std::ranges::any_of(region.lost, [&](std::int32_t thread) {
    if (thread == 0) {
      return false;
    }
    const auto tid =
        tasks ? tasks->outer(static_cast<std::uint64_t>(thread)) : std::nullopt;
    return !tasks || (tid && may_be_inside(target, *tid, image));
  });
}

}  // namespace

Result<std::optional<Address>> find_agent(const AttachTarget& target) {
  for (const int tid : TRY(list_tasks(target.pid))) {
    const auto stat = read_task_stat(target.pid, tid);
    if (!stat || stat->comm != HD_CONTROL_THREAD_NAME) {
      continue;
    }
    const auto image = image_of(target, tid);
    if (!image) {
      continue;
    }
    const auto header = target.memory.read_value<HdImageHeader>(*image);
    if (!header || header->magic != HD_MAGIC) {
      continue;
    }
    if (header->abi != HD_ABI) {
      return fail(ErrorId::OtherVersion,
                  "an agent of another version of hangdbg is in the target",
                  "end the other session, or use the same version");
    }
    const Address region = region_of(*image, *header);
    const auto seen = target.memory.read_value<HdRegion>(region);
    if (seen && seen->magic == HD_MAGIC && seen->stage == HD_STAGE_SERVING) {
      log::debug(log::Area::Injector, "agent found in thread {}", tid);
      return region;
    }
  }
  return std::nullopt;
}

std::vector<Address> find_left_images(const AttachTarget& target) {
  std::vector<Address> images;
  // One that is just leaving is on its way out of such an image.
  const auto tasks = list_tasks(target.pid);
  for (const int tid : tasks ? *tasks : std::vector<int>{}) {
    const auto stat = read_task_stat(target.pid, tid);
    if (stat && stat->comm == HD_CONTROL_THREAD_NAME) {
      return images;
    }
  }
  const auto maps = read_maps(target.pid);
  for (const Mapping& mapping : maps ? *maps : std::vector<Mapping>{}) {
    if (!mapping.executable || mapping.inode != 0) {
      continue;
    }
    const auto header = target.memory.read_value<HdImageHeader>(mapping.start);
    if (!header || header->magic != HD_MAGIC || header->abi != HD_ABI) {
      continue;
    }
    const auto region =
        target.memory.read_value<HdRegion>(region_of(mapping.start, *header));
    if (region && region->magic == HD_MAGIC &&
        region->stays == HD_STAYS_ALONE &&
        !may_still_come(target, *region, {mapping.start, mapping.end})) {
      images.push_back(mapping.start);
    }
  }
  return images;
}

Result<Channels> join_agent(const AttachTarget& target,
                            Address region,
                            const FdFetcher& fetcher,
                            Deadline deadline) {
  const auto read = target.memory.read_value<HdRegion>(region);
  if (!read) {
    return fail(ErrorId::ChannelClosed, "the agent has just left");
  }
  const HdRegion& seen = *read;
  if ((seen.forbidden & HD_FORBIDS_SOCKETS) == 0 &&
      !fetcher.can_fetch_sockets()) {
    return fail(ErrorId::NotPermitted,
                "the agent in the target speaks over sockets, which may not "
                "be fetched from here (pidfd_getfd is forbidden)",
                "end the other hangdbg session first");
  }
  const auto rendezvous = fetcher.fetch(seen.rendezvous, O_WRONLY | O_NONBLOCK);
  // The agent may have closed it before we fetched it, and the program before
  // that; then the number may be a file of the program's.
  struct stat file {};
  if (!rendezvous || ::fstat(rendezvous->get(), &file) != 0 ||
      !S_ISFIFO(file.st_mode) || file.st_ino != seen.rendezvous_inode) {
    return fail(ErrorId::ChannelClosed,
                "the agent's rendezvous pipe is closed");
  }
  std::uint32_t nonce = 0;
  while (nonce == 0) {
    if (::getrandom(&nonce, sizeof nonce, 0) != sizeof nonce) {
      return fail_errno("getrandom failed");
    }
  }
  const HdRendezvousRecord record{HD_RECORD_JOIN, nonce};
  if (::write(rendezvous->get(), &record, sizeof record) != sizeof record) {
    return fail_errno("the agent's rendezvous pipe is closed",
                      ErrorId::ChannelClosed);
  }
  return take_channels(target.memory, region, fetcher, nonce, deadline);
}

}  // namespace hangdbg
