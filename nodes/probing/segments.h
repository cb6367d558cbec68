// Bytes without a meaning, sent in full segments.
#pragma once

#include <cstddef>

#include "nodes/probing/exchange.h"

namespace hangdbg {

// How many bytes a full segment has on this connection.
int segment_size(int socket);

// Sends what is left of `text` and then of kProbeBulk bytes, without waiting;
// `sent` is moved on. Returns errno, or 0 where it can continue later.
int send_segments(int socket, std::string_view text, std::size_t& sent);

// Into `sockaddr_storage`, of which it returns the size; 0: it is no address.
unsigned socket_address(const std::string& address,
                        std::uint16_t port,
                        void* storage);

}  // namespace hangdbg
