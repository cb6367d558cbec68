#include "tracee/net/infiniband.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <tuple>

#include "base/text.h"

namespace hangdbg {
namespace {

namespace fs = std::filesystem;

// Those in "counters" and, of what the adapter counts itself, "hw_counters".
constexpr std::array<std::string_view, 17> kErrors = {
    "symbol_error",
    "link_error_recovery",
    "link_downed",
    "port_rcv_errors",
    "port_rcv_remote_physical_errors",
    "port_xmit_discards",
    "port_xmit_constraint_errors",
    "port_rcv_constraint_errors",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
    "VL15_dropped",
    "local_ack_timeout_err",
    "packet_seq_err",
    "out_of_sequence",
    "rnr_nak_retry_err",
    "req_transport_retries_exceeded",
    "implied_nak_seq_err",
};

std::string line_of(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

// "4: ACTIVE"
std::string after_colon(const std::string& line) {
  const auto colon = line.find(": ");
  return colon == line.npos ? line : line.substr(colon + 2);
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    entries.push_back(at->path());
  }
  return entries;
}

InfinibandPort read_port(const fs::path& device, const fs::path& folder) {
  InfinibandPort port{.device = device.filename(),
                      .state = after_colon(line_of(folder / "state")),
                      .physical = after_colon(line_of(folder / "phys_state")),
                      .rate = line_of(folder / "rate"),
                      .layer = line_of(folder / "link_layer")};
  port.port = parse_number<int>(folder.filename().string()).value_or(0);
  for (const std::string_view name : kErrors) {
    for (const std::string_view where : {"counters", "hw_counters"}) {
      const auto count =
          parse_number<std::uint64_t>(line_of(folder / where / name));
      if (count && *count > 0) {
        port.errors.emplace(name, *count);
      }
    }
  }
  return port;
}

}  // namespace

std::vector<InfinibandPort> read_infiniband(const std::string& root) {
  std::vector<InfinibandPort> ports;
  for (const fs::path& device : entries_of(root)) {
    for (const fs::path& port : entries_of(device / "ports")) {
      ports.push_back(read_port(device, port));
    }
  }
  std::ranges::sort(ports, {}, [](const InfinibandPort& one) {
    return std::tuple(one.device, one.port);
  });
  return ports;
}

}  // namespace hangdbg
