#include "injector/agent_image.h"

#include <sys/random.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "injector/agent_finder.h"
#include "injector/stub/signal_masks.h"
#include "inspector/cpython/runtime/gil.h"
#include "tracee/proc/task_ids.h"

extern "C" {
extern const std::byte hangdbg_bootstrap_begin[];
extern const std::byte hangdbg_bootstrap_end[];
}

namespace hangdbg {
namespace {

constexpr std::uint64_t kPageSize = 4096;
// The first thread runs the user's expressions: as much as any thread of the
// target's own has, of which only what is touched is taken.
constexpr std::uint64_t kExecutorStack = 8 * 1024 * 1024;
}  // namespace

Result<AgentImage> make_image(const AttachTarget& target,
                              const AgentProgram& agent,
                              bool use_pipes) {
  AgentImage image;
  image.text.assign(hangdbg_bootstrap_begin, hangdbg_bootstrap_end);
  HdImageHeader header;
  std::memcpy(&header, image.text.data(), sizeof header);
  const auto round_up = [](std::uint64_t size) {
    return (size + kPageSize - 1) / kPageSize * kPageSize;
  };
  image.plan.text_size = round_up(image.text.size());
  const auto compiled = agent.compiled(target.python.version.minor);
  // The source ends with a NUL.
  const std::uint64_t source_size = agent.source.size() + 1;
  image.agent.resize(source_size + compiled.code.size());
  image.plan.total_size =
      image.plan.text_size + round_up(HD_AGENT_OFFSET + image.agent.size());
  image.plan.entry = header.entry;
  image.plan.stack_size = kExecutorStack;

  HdRegion& region = image.region;
  while (region.first_nonce == 0) {
    if (::getrandom(&region.first_nonce, sizeof region.first_nonce, 0) !=
        sizeof region.first_nonce) {
      return fail_errno("getrandom failed");
    }
  }
  region.magic = HD_MAGIC;
  region.total_size = image.plan.total_size;
  region.forbidden = use_pipes ? HD_FORBIDS_SOCKETS : 0;
  region.rendezvous = -1;
  region.libc_signals = libc_signals(target.danger.is_musl());
  region.code_offset =
      static_cast<std::uint32_t>(HD_AGENT_OFFSET + source_size);
  region.code_size = static_cast<std::uint32_t>(compiled.code.size());
  region.code_magic = compiled.magic;
  const auto left = find_left_images(target);
  for (std::size_t i = 0; i < left.size() && i < std::size(region.left); i++) {
    region.left[i] = left[i].value;
  }
  region.api = target.api.table;
  if (const auto tasks = TaskIds::read(target.pid);
      tasks && !target.python.free_threaded) {
    if (const auto gil = read_gil(target.memory, target.python, *tasks)) {
      region.api.gil_locked = gil->locked_word.value;
    }
  }
  std::ranges::copy(std::as_bytes(std::span(agent.source)),
                    image.agent.begin());
  std::ranges::copy(std::as_bytes(std::span(compiled.code)),
                    image.agent.begin() + static_cast<long>(source_size));
  return image;
}

// The region's filter is the borrowed thread's, so it is not known before.
HdRegion without(HdRegion region, const AllowedCalls& allowed) {
  if (!allowed.sockets) {
    region.forbidden |= HD_FORBIDS_SOCKETS;
  }
  if (!allowed.sched_yield) {
    region.forbidden |= HD_FORBIDS_YIELD;
  }
  if (!allowed.read_self) {
    region.forbidden |= HD_FORBIDS_READ_SELF;
  }
  if (!allowed.open) {
    region.forbidden |= HD_FORBIDS_OPEN;
  }
  if (!allowed.drop) {
    region.forbidden |= HD_FORBIDS_DROP;
  }
  if (!allowed.clock) {
    region.forbidden |= HD_FORBIDS_CLOCK;
  }
  if (!allowed.hold) {
    region.forbidden |= HD_FORBIDS_STOPS;
  }
  return region;
}

}  // namespace hangdbg
