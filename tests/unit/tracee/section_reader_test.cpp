// Sections of bytes made here, packed by the libraries that linkers use.
#include "tracee/elf/section_reader.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace hangdbg {
namespace {

using Bytes = std::vector<std::byte>;

constexpr Address kAt{0x40};
constexpr std::uint32_t kZstd = 2;
const std::vector<std::uint32_t> kPackings = {0, ELFCOMPRESS_ZLIB, kZstd};

// Half of it cannot be packed.
Bytes content(std::size_t size) {
  std::mt19937_64 random(3);
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; i += 2) {
    bytes[i] = static_cast<std::byte>(random());
  }
  return bytes;
}

// A file with one section.
class File final : public MemoryReader {
 public:
  File(const Bytes& plain, std::uint32_t packing) {
    section_.sh_type = SHT_PROGBITS;
    section_.sh_offset = kAt.value;
    section_.sh_flags = packing == 0 ? 0 : SHF_COMPRESSED;
    bytes_ = packing == 0 ? plain : packed(plain, packing);
    section_.sh_size = bytes_.size();
  }

  Status read(Address from, std::span<std::byte> out) const override {
    const std::uint64_t start = from - kAt;
    if (start > bytes_.size() || out.size() > bytes_.size() - start) {
      return fail(ErrorId::Unreadable, "a test's file is shorter");
    }
    std::copy_n(bytes_.data() + start, out.size(), out.data());
    read_ += out.size();
    return {};
  }
  Result<SectionReader> open() const {
    return SectionReader::open(*this, section_);
  }
  Bytes& bytes() { return bytes_; }
  Elf64_Shdr& section() { return section_; }
  std::size_t was_read() const { return read_; }

 private:
  static Bytes packed(const Bytes& plain, std::uint32_t packing) {
    Elf64_Chdr head{};
    head.ch_type = packing;
    head.ch_size = plain.size();
    Bytes bytes(sizeof head + 2 * plain.size() + 1000);
    std::memcpy(bytes.data(), &head, sizeof head);
    uLongf size = bytes.size() - sizeof head;
    if (packing == kZstd) {
      size = ::ZSTD_compress(bytes.data() + sizeof head, size, plain.data(),
                             plain.size(), 1);
    } else {
      ::compress(reinterpret_cast<Bytef*>(bytes.data() + sizeof head), &size,
                 reinterpret_cast<const Bytef*>(plain.data()), plain.size());
    }
    bytes.resize(sizeof head + size);
    return bytes;
  }

  Bytes bytes_;
  Elf64_Shdr section_{};
  mutable std::size_t read_ = 0;
};

TEST(SectionReader, PieceByPiece) {
  const Bytes plain = content(500'000);
  for (const std::uint32_t packing : kPackings) {
    const File file(plain, packing);
    auto reader = file.open();
    ASSERT_TRUE(reader);
    Bytes got;
    for (std::size_t size = 1; reader->left() > 0; size *= 7) {
      Bytes piece(std::min<std::uint64_t>(size, reader->left()));
      ASSERT_TRUE(reader->read(piece));
      got.insert(got.end(), piece.begin(), piece.end());
    }
    EXPECT_TRUE(got == plain) << packing;
    EXPECT_TRUE(reader->read({}));
    std::byte more{};
    EXPECT_FALSE(reader->read({&more, 1}));
  }
}

TEST(SectionReader, ReadsNoFurtherThanItMust) {
  for (const std::uint32_t packing : kPackings) {
    const File file(content(2'000'000), packing);
    auto reader = file.open();
    ASSERT_TRUE(reader);
    Bytes first(100);
    ASSERT_TRUE(reader->read(first));
    EXPECT_LT(file.was_read(), 300'000) << packing;
  }
}

TEST(SectionReader, CutOffOrDamaged) {
  const Bytes plain = content(300'000);
  for (const std::uint32_t packing : kPackings) {
    for (const std::size_t size : {0, 1, 23, 24, 25, 70'000, 150'000}) {
      File file(plain, packing);
      file.section().sh_size = size;
      auto reader = file.open();
      Bytes all(plain.size());
      EXPECT_FALSE(reader && reader->read(all)) << packing << ", " << size;
    }
    File file(plain, packing);
    file.bytes().resize(100'000);  // the section claims more
    auto reader = file.open();
    Bytes all(plain.size());
    EXPECT_FALSE(reader && reader->read(all)) << packing;
  }
  for (const std::uint32_t packing : {ELFCOMPRESS_ZLIB, 2, 3}) {
    File file(plain, packing == 3 ? kZstd : packing);
    if (packing == 3) {
      file.bytes()[0] = std::byte{3};  // an unknown type
    } else {
      const auto packed = file.bytes().begin() + sizeof(Elf64_Chdr);
      std::fill_n(packed, 100, std::byte{0xff});
    }
    auto reader = file.open();
    Bytes all(plain.size());
    EXPECT_FALSE(reader && reader->read(all)) << packing;
  }
}

// More is claimed than was packed, and other bytes follow.
TEST(SectionReader, EndsBeforeItSays) {
  for (const std::uint32_t packing : {ELFCOMPRESS_ZLIB, 2}) {
    File file(content(1000), packing);
    const std::uint64_t claimed = 300'000;
    std::memcpy(file.bytes().data() + offsetof(Elf64_Chdr, ch_size), &claimed,
                sizeof claimed);
    file.bytes().resize(200'000);
    file.section().sh_size = file.bytes().size();
    auto reader = file.open();
    ASSERT_TRUE(reader);
    Bytes all(claimed);
    EXPECT_FALSE(reader->read(all)) << packing;
  }
}

}  // namespace
}  // namespace hangdbg
