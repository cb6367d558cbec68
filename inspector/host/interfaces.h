// Network interfaces, and those that variables tell libraries to use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "inspector/host/variables.h"

namespace hangdbg {

struct NetworkInterface {
  std::string name;
  // Packets (proc_net(5), "dev").
  std::uint64_t receive_errors = 0, send_errors = 0;
};

// Of the network that the process is in. Errors: those of read_proc_file.
Result<std::vector<NetworkInterface>> read_network_interfaces(int pid);
std::vector<NetworkInterface> parse_network_interfaces(std::string_view text);

// "NCCL_SOCKET_IFNAME=eth0: there is no such interface", of NCCL and of gloo.
std::vector<std::string> missing_interfaces(
    const std::vector<EnvironmentVariable>& variables,
    const std::vector<NetworkInterface>& interfaces);

}  // namespace hangdbg
