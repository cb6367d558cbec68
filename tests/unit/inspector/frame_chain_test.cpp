// A chain of frames as it may look while its thread runs: it leads back into
// itself.
#include "inspector/cpython/runtime/frame_chain.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "inspector/cpython/layout/layout.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMost = 100'000;

CPythonLayout made_up_layout() {
  CPythonLayout at;
  at.frame_code = 0;
  at.frame_previous = 8;
  at.frame_position = 16;
  at.object_type = 0;
  at.code_name = 8;
  at.code_filename = 16;
  at.code_line_table = 24;
  at.code_first_line = 32;
  return at;
}

// Frames side by side, each called by the next; `last` is the number of the
// one that has called the last, -1: none.
class MadeUpFrames final : public MemoryReader {
 public:
  MadeUpFrames(std::size_t count, int last) : bytes_(count * kSize) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t previous =
          i + 1 < count ? address_of(i + 1).value
          : last >= 0   ? address_of(static_cast<std::size_t>(last)).value
                        : 0;
      const std::uint64_t code = address_of(0).value;
      std::memcpy(&bytes_[i * kSize], &code, sizeof code);
      std::memcpy(&bytes_[i * kSize + 8], &previous, sizeof previous);
    }
  }
  Status read(Address from, std::span<std::byte> out) const override {
    const std::uint64_t at = from.value - kBase;
    if (from.value < kBase || at >= bytes_.size() ||
        out.size() > bytes_.size() - at) {
      return fail(ErrorId::Unreadable, "nothing is there", "");
    }
    std::memcpy(out.data(), &bytes_[at], out.size());
    return {};
  }
  static Address address_of(std::size_t frame) {
    return Address{kBase + frame * kSize};
  }

 private:
  static constexpr std::uint64_t kBase = 0x10000;
  static constexpr std::size_t kSize = 64;
  std::vector<std::byte> bytes_;
};

FrameChain read(const MadeUpFrames& frames) {
  const FrameChain expected;  // as record does: no pages are kept
  const auto chain = read_frames_from(
      frames, made_up_layout(), MadeUpFrames::address_of(0), kMost, &expected);
  EXPECT_TRUE(chain) << chain.error().text();
  return chain.value_or(FrameChain());
}

TEST(FrameChain, IsReadToItsEnd) {
  const FrameChain chain = read({3000, -1});
  EXPECT_TRUE(chain.complete);
  EXPECT_EQ(chain.frames.size(), 3000);
}

TEST(FrameChain, IsLeftWhereItComesBack) {
  struct Chain {
    std::size_t frames;
    int last;
  };
  for (const Chain& one : {Chain{1, 0}, Chain{5, 2}, Chain{100, 99},
                           Chain{100, 0}, Chain{900, 600}}) {
    const FrameChain chain = read({one.frames, one.last});
    EXPECT_FALSE(chain.complete) << one.frames;
    EXPECT_GE(chain.frames.size(), one.frames);
    EXPECT_LE(chain.frames.size(), 3 * one.frames + 200) << one.frames;
  }
}

}  // namespace
}  // namespace hangdbg
