// Reading a target's memory, wherever it is: a live process, a core file, a
// test's bytes. All readers fail with Unreadable and the address; none throws.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "tracee/memory/address.h"

namespace hangdbg {

class MemoryReader {
 public:
  virtual ~MemoryReader() = default;

  // Fills all of `out`, or fails; a read that crosses into an unmapped page
  // fails as a whole.
  virtual Status read(Address from, std::span<std::byte> out) const = 0;

  // Whether it may be other when it is read again.
  virtual bool changes() const { return false; }

  // One of several reads that are done together.
  struct Piece {
    Address from;
    std::span<std::byte> out;
  };
  // Fills the pieces in order, up to the first that cannot be read; returns how
  // many were filled. Few system calls where that is possible.
  virtual std::size_t read_each(std::span<const Piece> pieces) const;

  template <class T>
  Result<T> read_value(Address from) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    TRY(read(from, std::as_writable_bytes(std::span(&value, 1))));
    return value;
  }

  Result<Address> read_address(Address from) const {
    return Address{TRY(read_value<std::uint64_t>(from))};
  }

  // A NUL-terminated string, cut at `limit` bytes.
  Result<std::string> read_string(Address from, std::size_t limit) const;
};

// A live process, by process_vm_readv(2). Needs the same right as ptrace.
class LiveMemory final : public MemoryReader {
 public:
  explicit LiveMemory(int pid) : pid_(pid) {}
  Status read(Address from, std::span<std::byte> out) const override;
  std::size_t read_each(std::span<const Piece> pieces) const override;
  bool changes() const override { return true; }

  // process_vm_writev(2): only to pages that the target itself may write.
  Status write(Address to, std::span<const std::byte> bytes) const;

 private:
  int pid_;
};

// The same by /proc/PID/mem, for a caller that suspends the process meanwhile:
// where a thread of it waits in the kernel with the lock on its memory, the
// read blocks too, but can be killed (access_remote_vm). Opened at first read.
class MemoryFile final : public MemoryReader {
 public:
  explicit MemoryFile(int pid) : pid_(pid) {}
  Status read(Address from, std::span<std::byte> out) const override;

 private:
  int pid_;
  mutable Fd file_;
};

// Bytes that a test made, in as many pieces as it likes.
class FakeMemory final : public MemoryReader {
 public:
  void add(Address at, std::vector<std::byte> bytes);
  Status read(Address from, std::span<std::byte> out) const override;

 private:
  struct Extent {
    Address at;
    std::vector<std::byte> bytes;
  };
  std::vector<Extent> extents_;
};

}  // namespace hangdbg
