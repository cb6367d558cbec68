#include "tracee/elf/unpack.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace hangdbg {
namespace {

constexpr std::size_t kUnpackPiece = 1U << 16;

using Piece = std::span<const std::byte>;

std::unexpected<Error> damaged_archive(const char* what) {
  return fail(ErrorId::Unreadable,
              fmt::format("a {} file is damaged or cut off", what));
}

// A plain file that no other process sees, and that is gone when we are.
class Output {
 public:
  static Result<Output> create() {
    const char* const folder = std::getenv("TMPDIR");
    const std::string path = folder != nullptr ? folder : "/var/tmp";
    Output output;
    output.file_.reset(
        ::open(path.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    if (!output.file_) {
      return fail_errno(fmt::format("cannot unpack into {}", path),
                        ErrorId::Unreadable);
    }
    return output;
  }

  Status append(Piece piece) {
    const bool zeros = std::ranges::all_of(
        piece, [](std::byte byte) { return byte == std::byte{0}; });
    for (std::size_t done = 0; !zeros && done < piece.size();) {
      const ssize_t put =
          ::pwrite(file_.get(), piece.data() + done, piece.size() - done,
                   static_cast<off_t>(size_ + done));
      if (put < 0 && errno != EINTR) {
        return fail_errno("cannot unpack", ErrorId::Unreadable);
      }
      done += put > 0 ? static_cast<std::size_t>(put) : 0;
    }
    size_ += piece.size();
    return {};
  }

  Result<Fd> finish() {
    if (::ftruncate(file_.get(), static_cast<off_t>(size_)) != 0) {
      return fail_errno("cannot unpack", ErrorId::Unreadable);
    }
    return std::move(file_);
  }

 private:
  Fd file_;
  std::uint64_t size_ = 0;
};

// The next piece of the packed file; empty at its end.
Result<Piece> next(const Fd& file, std::span<std::byte> buffer) {
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got >= 0) {
      return buffer.first(static_cast<std::size_t>(got));
    }
    if (errno != EINTR) {
      return fail_errno("cannot read a file", ErrorId::Unreadable);
    }
  }
}

Result<Fd> gunzip(const Fd& file) {
  Output output = TRY(Output::create());
  z_stream stream{};
  constexpr int kGzip = 16 + MAX_WBITS;  // zlib.h, inflateInit2
  if (::inflateInit2(&stream, kGzip) != Z_OK) {
    return fail(ErrorId::System, "no memory to unpack a file");
  }
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream,
                                                          ::inflateEnd);
  std::vector<std::byte> in(kUnpackPiece);
  std::vector<std::byte> out(kUnpackPiece);
  int state = Z_STREAM_END;
  for (;;) {
    const Piece piece = TRY(next(file, in));
    if (piece.empty()) {
      break;
    }
    stream.next_in = reinterpret_cast<Bytef*>(in.data());
    stream.avail_in = static_cast<uInt>(piece.size());
    while (stream.avail_in > 0) {
      // Several may follow each other (RFC 1952).
      if (state == Z_STREAM_END && ::inflateReset(&stream) != Z_OK) {
        return damaged_archive("gzip");
      }
      stream.next_out = reinterpret_cast<Bytef*>(out.data());
      stream.avail_out = static_cast<uInt>(out.size());
      state = ::inflate(&stream, Z_NO_FLUSH);
      if (state != Z_OK && state != Z_STREAM_END) {
        return damaged_archive("gzip");
      }
      TRY(output.append(Piece(out).first(out.size() - stream.avail_out)));
    }
  }
  return state == Z_STREAM_END ? output.finish() : damaged_archive("gzip");
}

Result<Fd> unzstd(const Fd& file) {
  Output output = TRY(Output::create());
  const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(
      ::ZSTD_createDCtx(), ::ZSTD_freeDCtx);
  std::vector<std::byte> in(kUnpackPiece);
  std::vector<std::byte> out(kUnpackPiece);
  std::size_t left = 0;
  for (;;) {
    const Piece piece = TRY(next(file, in));
    if (piece.empty()) {
      break;
    }
    ZSTD_inBuffer input{piece.data(), piece.size(), 0};
    while (input.pos < input.size) {
      ZSTD_outBuffer buffer{out.data(), out.size(), 0};
      left = ::ZSTD_decompressStream(context.get(), &buffer, &input);
      if (::ZSTD_isError(left) != 0) {
        return damaged_archive("zstd");
      }
      TRY(output.append(Piece(out).first(buffer.pos)));
    }
  }
  return left == 0 ? output.finish() : damaged_archive("zstd");
}

}  // namespace

Result<Fd> unpacked(Fd file) {
  std::array<unsigned char, 4> magic{};
  (void)!::pread(file.get(), magic.data(), magic.size(), 0);
  constexpr std::array<unsigned char, 2> kGzip = {0x1f, 0x8b};
  constexpr std::array<unsigned char, 4> kZstd = {0x28, 0xb5, 0x2f, 0xfd};
  if (std::equal(kGzip.begin(), kGzip.end(), magic.begin())) {
    return gunzip(file);
  }
  return magic == kZstd ? unzstd(file) : Result<Fd>(std::move(file));
}

}  // namespace hangdbg
