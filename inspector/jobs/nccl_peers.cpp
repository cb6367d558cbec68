#include "inspector/jobs/nccl_peers.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>
#include <span>

#include "base/text.h"
#include "tracee/elf/file_symbols.h"
#include "tracee/memory/memory.h"
#include "tracee/net/socket_address.h"
#include "tracee/proc/proc_maps.h"
#include "tracee/proc/task_ids.h"

namespace hangdbg {
namespace {

constexpr int kMostPeers = 1 << 20;

// struct rasPeerInfo of NCCL 2.26 to 2.30.
struct RasPeer {
  std::uint16_t family;  // of a sockaddr
  std::uint16_t port;
  std::array<std::uint8_t, 4> v4;
  std::array<std::uint8_t, 16> v6;
  std::uint32_t scope;
  std::int32_t pid;  // as the process sees it
  std::array<std::uint64_t, 4> devices_and_hashes;
};
static_assert(sizeof(RasPeer) == 64);

std::vector<RasPeer> peers_of(const Module& module,
                              int pid,
                              const MemoryReader& memory) {
  const auto image = ElfImage::read(memory, module.base);
  const auto symbols = image ? FileSymbols::read(pid, memory, module, *image)
                             : std::unexpected(image.error());
  const auto list = symbols ? symbols->find("rasPeers") : std::nullopt;
  const auto count = symbols ? symbols->find("nRasPeers") : std::nullopt;
  if (!list || !count) {
    return {};
  }
  const auto number = memory.read_value<std::int32_t>(count->address);
  const auto first = memory.read_address(list->address);
  if (!number || !first || *number < 1 || *number > kMostPeers) {
    return {};
  }
  std::vector<RasPeer> peers(static_cast<std::size_t>(*number));
  return memory.read(*first, std::as_writable_bytes(std::span(peers)))
             ? peers
             : std::vector<RasPeer>();
}

std::optional<SocketAddress> address_of(const RasPeer& peer) {
  if (peer.family == AF_INET) {
    return SocketAddress::v4(peer.v4, 0);
  }
  return peer.family == AF_INET6 ? std::optional(SocketAddress{peer.v6})
                                 : std::nullopt;
}

}  // namespace

Result<std::vector<std::string>> nccl_hosts(int pid) {
  const auto maps = TRY(read_maps(pid));
  const LiveMemory memory(pid);
  for (const Module& module : find_modules(maps)) {
    if (!base_name(module.path).starts_with("libnccl.so")) {
      continue;
    }
    const auto ids = TaskIds::read(pid);
    const auto own = ids ? ids->inner(pid) : std::nullopt;
    bool has_own = false;
    std::set<SocketAddress> hosts;
    const auto peers = peers_of(module, pid, memory);
    for (const RasPeer& peer : peers) {
      const auto address = address_of(peer);
      if (!address) {
        return std::vector<std::string>();  // another layout
      }
      hosts.insert(*address);
      has_own |= own && peer.pid == static_cast<std::int64_t>(*own);
    }
    if (has_own) {
      std::vector<std::string> texts;
      for (const SocketAddress& host : hosts) {
        texts.push_back(host.host_text());
      }
      return texts;
    }
  }
  return std::vector<std::string>();
}

}  // namespace hangdbg
