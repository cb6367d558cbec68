// Socket addresses in words (unix(7), ip(7), netlink(7)).
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace hangdbg {

// A struct sockaddr: "10.0.0.1:80", "[::1]:80", "unix:/run/x", "unix:@name",
// "netlink:42"; the bytes of the address families that are not known here.
std::string socket_address_text(std::span<const std::byte> address);

// A socket of ours: "TCP 10.0.0.1:5000->10.0.0.2:80", "UNIX /run/x", "UDP
// 0.0.0.0:53"; empty if it tells nothing.
std::string socket_text(int fd);

}  // namespace hangdbg
