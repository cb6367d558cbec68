// process_vm_readv(2) for live targets; a list of byte strings for tests.
#include "tracee/memory/memory.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace hangdbg {
namespace {

constexpr std::uint64_t kPageSize = 4096;
constexpr std::size_t kMaxVectors = 1024;  // IOV_MAX

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

std::size_t MemoryReader::read_each(std::span<const Piece> pieces) const {
  const auto failed = std::ranges::find_if(
      pieces, [&](const Piece& piece) { return !read(piece.from, piece.out); });
  return static_cast<std::size_t>(failed - pieces.begin());
}

Status MemoryFile::read(Address from, std::span<std::byte> out) const {
  if (!file_) {
    file_ = Fd(::open(fmt::format("/proc/{}/mem", pid_).c_str(),
                      O_RDONLY | O_CLOEXEC));
  }
  const ssize_t got = ::pread(file_.get(), out.data(), out.size(),
                              static_cast<off_t>(from.value));
  if (got != static_cast<ssize_t>(out.size())) {
    if (got >= 0) {
      errno = EFAULT;
    }
    return unreadable(from, out.size());
  }
  return {};
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

std::size_t LiveMemory::read_each(std::span<const Piece> pieces) const {
  std::vector<iovec> local(std::min(pieces.size(), kMaxVectors));
  std::vector<iovec> remote(local.size());
  std::size_t filled = 0;
  while (filled < pieces.size()) {
    const auto batch =
        pieces.subspan(filled, std::min(pieces.size() - filled, local.size()));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      local[i] = {batch[i].out.data(), batch[i].out.size()};
      remote[i] = {reinterpret_cast<void*>(batch[i].from.value),
                   batch[i].out.size()};
    }
    const ssize_t got = ::process_vm_readv(pid_, local.data(), batch.size(),
                                           remote.data(), batch.size(), 0);
    std::size_t whole = 0;
    for (std::size_t left = got > 0 ? static_cast<std::size_t>(got) : 0;
         whole < batch.size() && batch[whole].out.size() <= left; ++whole) {
      left -= batch[whole].out.size();
    }
    filled += whole;
    if (whole < batch.size()) {
      break;
    }
  }
  return filled;
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
  extents_.push_back({at, std::move(bytes)});
}

Status FakeMemory::read(Address from, std::span<std::byte> out) const {
  for (const Extent& extent : extents_) {
    if (from < extent.at ||
        from.value - extent.at.value > extent.bytes.size() ||
        extent.bytes.size() - (from - extent.at) < out.size()) {
      continue;
    }
    const auto first =
        extent.bytes.begin() + static_cast<std::ptrdiff_t>(from - extent.at);
    std::copy_n(first, out.size(), out.begin());
    return {};
  }
  errno = EFAULT;
  return unreadable(from, out.size());
}

}  // namespace hangdbg
