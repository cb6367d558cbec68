// The ports of InfiniBand and RoCE adapters and what went wrong on them:
// /sys/class/infiniband (Documentation/ABI/stable/sysfs-class-infiniband).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hangdbg {

struct InfinibandPort {
  std::string device;  // "mlx5_0"
  int port = 0;
  std::string state;     // "ACTIVE", "DOWN", "INIT", "ARMED"
  std::string physical;  // "LinkUp", "Polling", "Disabled"
  std::string rate;      // "200 Gb/sec (4X HDR)"
  std::string layer;     // "InfiniBand", "Ethernet"
  // Counters of errors that are not 0, by the kernel's names.
  std::map<std::string, std::uint64_t> errors;
};

// By device and port; none where there is no such adapter.
std::vector<InfinibandPort> read_infiniband(
    const std::string& root = "/sys/class/infiniband");

}  // namespace hangdbg
