#include "tracee/elf/section_reader.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace hangdbg {
namespace {

constexpr std::uint64_t kMaxSection = 1U << 28;
constexpr std::uint64_t kSectionReaderMaxUnpacked = 1U << 27;
constexpr std::size_t kSectionReaderPiece = 1U << 16;
constexpr std::uint32_t kZstd = 2;  // ELFCOMPRESS_ZSTD; elf.h may be older

std::unexpected<Error> damaged() {
  return fail(ErrorId::Unreadable, "a damaged compressed section");
}

}  // namespace

class SectionReader::Unpacker {
 public:
  virtual ~Unpacker() = default;

  // Takes what it needs off the front of `packed`; returns how many bytes it
  // has made of it.
  virtual Result<std::size_t> unpack(std::span<const std::byte>& packed,
                                     std::span<std::byte> out) = 0;
};

class SectionReader::Zlib final : public Unpacker {
 public:
  // Its checksum is of all of it, and we seldom reach the end.
  Zlib()
      : usable_(::inflateInit(&stream_) == Z_OK &&
                ::inflateValidate(&stream_, 0) == Z_OK) {}
  ~Zlib() override { ::inflateEnd(&stream_); }

  Result<std::size_t> unpack(std::span<const std::byte>& packed,
                             std::span<std::byte> out) override {
    stream_.next_in =
        const_cast<Bytef*>(reinterpret_cast<const Bytef*>(packed.data()));
    stream_.avail_in = static_cast<uInt>(packed.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    const int state = usable_ ? ::inflate(&stream_, Z_NO_FLUSH) : Z_MEM_ERROR;
    if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR) {
      return damaged();
    }
    packed = packed.last(stream_.avail_in);
    return out.size() - stream_.avail_out;
  }

 private:
  z_stream stream_{};
  bool usable_;
};

class SectionReader::Zstd final : public Unpacker {
 public:
  Result<std::size_t> unpack(std::span<const std::byte>& packed,
                             std::span<std::byte> out) override {
    ZSTD_inBuffer from{packed.data(), packed.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    if (::ZSTD_isError(::ZSTD_decompressStream(context_.get(), &to, &from)) !=
        0) {
      return damaged();
    }
    packed = packed.subspan(from.pos);
    return to.pos;
  }

 private:
  std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context_{
      ::ZSTD_createDCtx(), ::ZSTD_freeDCtx};
};

Result<SectionReader> SectionReader::open(const MemoryReader& file,
                                          const Elf64_Shdr& section) {
  if (section.sh_type == SHT_NOBITS || section.sh_size > kMaxSection) {
    return fail(ErrorId::Unreadable, "a section without content");
  }
  SectionReader reader(file, Address{section.sh_offset}, section.sh_size);
  if ((section.sh_flags & SHF_COMPRESSED) == 0) {
    return reader;
  }
  // How, how large it was, and then the rest.
  Elf64_Chdr head;
  TRY(reader.read(std::as_writable_bytes(std::span(&head, 1))));
  if (head.ch_size == 0 || head.ch_size > kSectionReaderMaxUnpacked) {
    return fail(ErrorId::Unreadable, "a section of an implausible size");
  }
  if (head.ch_type == ELFCOMPRESS_ZLIB) {
    reader.unpacker_ = std::make_unique<Zlib>();
  } else if (head.ch_type == kZstd) {
    reader.unpacker_ = std::make_unique<Zstd>();
  } else {
    return damaged();
  }
  reader.packed_ = std::exchange(reader.plain_, nullptr);
  reader.packed_left_ = std::exchange(reader.plain_left_, {});
  reader.left_ = head.ch_size;
  return reader;
}

SectionReader::SectionReader(const MemoryReader& file,
                             Address from,
                             std::uint64_t size)
    : file_(&file), next_(from), left_in_file_(size), left_(size) {}

SectionReader::SectionReader(SectionReader&&) noexcept = default;

SectionReader::~SectionReader() = default;

Status SectionReader::read(std::span<std::byte> out) {
  if (out.size() > left_) {
    return fail(ErrorId::Unreadable, "a section that is cut off");
  }
  left_ -= out.size();
  while (!out.empty()) {
    if (plain_left_.empty()) {
      if (unpacker_ == nullptr && out.size() >= kSectionReaderPiece) {
        out = out.subspan(TRY(next_piece(out)).size());
        continue;
      }
      TRY(fill());
    }
    const std::size_t size = std::min(out.size(), plain_left_.size());
    std::memcpy(out.data(), plain_left_.data(), size);
    plain_left_ = plain_left_.subspan(size);
    out = out.subspan(size);
  }
  return {};
}

Status SectionReader::fill() {
  if (plain_ == nullptr) {
    plain_ = std::make_unique_for_overwrite<std::byte[]>(kSectionReaderPiece);
  }
  const std::span plain(plain_.get(), kSectionReaderPiece);
  if (unpacker_ == nullptr) {
    plain_left_ = TRY(next_piece(plain));
    return {};
  }
  while (plain_left_.empty()) {
    const bool is_last = left_in_file_ == 0;
    if (packed_left_.empty() && !is_last) {
      packed_left_ = TRY(next_piece({packed_.get(), kSectionReaderPiece}));
    }
    plain_left_ = plain.first(TRY(unpacker_->unpack(packed_left_, plain)));
    if (plain_left_.empty() && (is_last || !packed_left_.empty())) {
      return damaged();  // it has ended
    }
  }
  return {};
}

Result<std::span<std::byte>> SectionReader::next_piece(
    std::span<std::byte> buffer) {
  const auto piece =
      buffer.first(std::min<std::uint64_t>(buffer.size(), left_in_file_));
  TRY(file_->read(next_, piece));
  next_ = next_ + piece.size();
  left_in_file_ -= piece.size();
  return piece;
}

}  // namespace hangdbg
