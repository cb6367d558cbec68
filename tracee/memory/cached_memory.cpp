#include "tracee/memory/cached_memory.h"

#include <algorithm>
#include <cstring>

namespace hangdbg {
namespace {

constexpr std::size_t kMaxPages = 8192;  // 32 MiB

}  // namespace

Status CachedMemory::read(Address from, std::span<std::byte> out) const {
  while (!out.empty()) {
    const std::uint64_t offset = from.value % kPageSize;
    const std::size_t size =
        std::min<std::uint64_t>(out.size(), kPageSize - offset);
    const Page* cached = page(from.value / kPageSize);
    if (cached != nullptr) {
      std::memcpy(out.data(), cached->data() + offset, size);
    } else {
      // A core file or a test may have less than a page there.
      TRY(under_.read(from, out.first(size)));
    }
    out = out.subspan(size);
    from = from + size;
  }
  return {};
}

void CachedMemory::forget(const std::function<bool(Address)>& drop) {
  std::erase_if(pages_, [&](const auto& entry) {
    return drop(Address{entry.first * kPageSize});
  });
  last_page_ = nullptr;
}

const CachedMemory::Page* CachedMemory::page(std::uint64_t number) const {
  if (last_page_ != nullptr && last_number_ == number) {
    return last_page_;
  }
  auto found = pages_.find(number);
  if (found == pages_.end()) {
    auto fresh = std::make_unique_for_overwrite<Page>();
    if (!under_.read(Address{number * kPageSize}, *fresh)) {
      return nullptr;
    }
    if (pages_.size() >= kMaxPages) {
      pages_.clear();
    }
    found = pages_.emplace(number, std::move(fresh)).first;
  }
  last_number_ = number;
  last_page_ = found->second.get();
  return last_page_;
}

}  // namespace hangdbg
