// The network interfaces of a process's network namespace, with their addresses
// (rtnetlink(7)).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "tracee/net/socket_address.h"

namespace hangdbg {

struct Interface {
  int index = 0;
  std::string name;      // "eth0"
  bool up = false;       // administratively up
  bool running = false;  // and it can carry something: a cable is in it
  int mtu = 0;
  std::vector<SocketAddress> addresses;  // without ports
};

// Errors: System, also where we may not go to that namespace; TimedOut.
Result<std::vector<Interface>> read_interfaces(int pid, Deadline deadline);

// Of one in our own network namespace, in Mbit/s; none where its driver does
// not say.
std::optional<int> interface_speed(const std::string& name);

// The one that has that address; null if none has.
const Interface* interface_of(const std::vector<Interface>& interfaces,
                              const SocketAddress& address);

}  // namespace hangdbg
