// Netlink sockets (netlink(7)) in the network namespace of another process, and
// queries by them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/result.h"

namespace hangdbg {

// A socket stays in the namespace that it was made in: a thread of ours that
// goes there makes it, and ends. Errors: System, also where we may not go
// there.
Result<Fd> open_netlink(int pid, int protocol);

// Sends a request and hands on each datagram of the answer, until `each`
// returns true: it was the last, or enough. Errors: TimedOut, System, those of
// `each`.
Status ask_netlink(
    int socket,
    std::span<const std::byte> request,
    Deadline deadline,
    const std::function<Result<bool>(std::span<const std::byte>)>& each);

// Hands on each message of a datagram, by type and body. Returns whether the
// dump is at its end. Errors: System, with what the kernel answers.
Result<bool> each_message(
    std::span<const std::byte> datagram,
    const std::function<void(std::uint16_t, std::span<const std::byte>)>& each);

// Each attribute (struct rtattr) behind a message's head of `head` bytes.
void each_attribute(
    std::span<const std::byte> body,
    std::size_t head,
    const std::function<void(std::uint16_t, std::span<const std::byte>)>& each);

// None, if that is not all there.
template <class T>
std::optional<T> value_at(std::span<const std::byte> bytes, std::size_t at) {
  if (at > bytes.size() || sizeof(T) > bytes.size() - at) {
    return std::nullopt;
  }
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

}  // namespace hangdbg
