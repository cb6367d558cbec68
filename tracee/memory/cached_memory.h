// CachedMemory: a reader that fetches whole pages and keeps them.
//
// Symbol tables and unwind tables are read in thousands of small steps that
// fall on few pages; a system call for each step would cost more than all
// else. It is for what does not change; what may change is forgotten.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include "tracee/memory/memory.h"

namespace hangdbg {

// Not for two threads at once.
class CachedMemory final : public MemoryReader {
 public:
  static constexpr std::uint64_t kPageSize = 4096;

  // `under` must outlive this.
  explicit CachedMemory(const MemoryReader& under) : under_(under) {}

  Status read(Address from, std::span<std::byte> out) const override;

  // Past the pages: what is read together is read once.
  std::size_t read_each(std::span<const Piece> pieces) const override {
    return under_.read_each(pieces);
  }

  // Drops each page for which `drop(address of the page)` says yes.
  void forget(const std::function<bool(Address)>& drop);

 private:
  using Page = std::array<std::byte, kPageSize>;
  const Page* page(std::uint64_t number) const;

  const MemoryReader& under_;
  mutable std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  mutable std::uint64_t last_number_ = ~std::uint64_t{0};
  mutable const Page* last_page_ = nullptr;
};

}  // namespace hangdbg
