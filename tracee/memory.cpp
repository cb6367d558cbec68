// process_vm_readv(2) for live targets; a list of byte strings for tests.
#include "tracee/memory.h"

#include <fmt/core.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstring>

namespace hangdbg {
namespace {

constexpr std::uint64_t kPageSize = 4096;

std::unexpected<Error> unreadable(Address at, std::size_t size) {
  return fail_errno(
      fmt::format("cannot read {} bytes at {:#x}", size, at.value),
      ErrorId::Unreadable);
}

}  // namespace

Result<std::string> MemoryReader::read_string(Address from,
                                              std::size_t limit) const {
  // Page by page, since the string may end on the last readable one.
  std::string text;
  while (text.size() < limit) {
    const Address at = from + text.size();
    const std::size_t chunk = std::min<std::uint64_t>(
        {limit - text.size(), 256, kPageSize - at.value % kPageSize});
    char piece[256];
    TRY(read(at, std::as_writable_bytes(std::span(piece, chunk))));
    const void* nul = std::memchr(piece, 0, chunk);
    if (nul != nullptr) {
      return text.append(piece, static_cast<const char*>(nul) - piece);
    }
    text.append(piece, chunk);
  }
  return text;
}

Status LiveMemory::read(Address from, std::span<std::byte> out) const {
  const iovec local{out.data(), out.size()};
  const iovec remote{reinterpret_cast<void*>(from.value), out.size()};
  const ssize_t got = ::process_vm_readv(pid_, &local, 1, &remote, 1, 0);
  if (got != static_cast<ssize_t>(out.size())) {
    if (got >= 0) {
      errno = EFAULT;
    }
    return unreadable(from, out.size());
  }
  return {};
}

Status LiveMemory::write(Address to, std::span<const std::byte> bytes) const {
  const iovec local{const_cast<std::byte*>(bytes.data()), bytes.size()};
  const iovec remote{reinterpret_cast<void*>(to.value), bytes.size()};
  const ssize_t put = ::process_vm_writev(pid_, &local, 1, &remote, 1, 0);
  if (put != static_cast<ssize_t>(bytes.size())) {
    if (put >= 0) {
      errno = EFAULT;
    }
    return fail_errno(
        fmt::format("cannot write {} bytes at {:#x}", bytes.size(), to.value),
        ErrorId::Unreadable);
  }
  return {};
}

void FakeMemory::add(Address at, std::vector<std::byte> bytes) {
  pieces_.push_back({at, std::move(bytes)});
}

Status FakeMemory::read(Address from, std::span<std::byte> out) const {
  for (const Piece& piece : pieces_) {
    if (from < piece.at || from.value - piece.at.value > piece.bytes.size() ||
        piece.bytes.size() - (from - piece.at) < out.size()) {
      continue;
    }
    const auto first =
        piece.bytes.begin() + static_cast<std::ptrdiff_t>(from - piece.at);
    std::copy_n(first, out.size(), out.begin());
    return {};
  }
  errno = EFAULT;
  return unreadable(from, out.size());
}

}  // namespace hangdbg
