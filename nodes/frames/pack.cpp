#include "nodes/frames/pack.h"

#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/spawn_up_to.h"

namespace hangdbg {
namespace {

constexpr int kLevel = 6;
constexpr int kZlib = 15;
constexpr int kRaw = -15;
constexpr std::size_t kPiece = 1 << 20;
constexpr std::size_t kFlushMarker = 16;  // not counted by deflateBound

std::string deflated(std::string_view bytes, int form, int flush) {
  z_stream stream{};
  if (::deflateInit2(&stream, kLevel, Z_DEFLATED, form, 9,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
    return {};
  }
  std::string packed(::deflateBound(&stream, bytes.size()) + kFlushMarker,
                     '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  ::deflate(&stream, flush);
  packed.resize(stream.total_out);
  packed.shrink_to_fit();
  ::deflateEnd(&stream);
  return packed;
}

struct Piece {
  std::string_view bytes;
  std::string packed = {};
  uLong crc = 0;
};

void deflate_on_all_cpus(std::vector<Piece>& pieces) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t at = next++; at < pieces.size(); at = next++) {
      Piece& one = pieces[at];
      one.packed = deflated(one.bytes, kRaw,
                            at + 1 == pieces.size() ? Z_FINISH : Z_SYNC_FLUSH);
      one.crc = ::crc32_z(0, reinterpret_cast<const Bytef*>(one.bytes.data()),
                          one.bytes.size());
    }
  };
  const std::size_t cpus = std::max(1U, std::thread::hardware_concurrency());
  auto helpers = spawn_up_to(std::min(cpus, pieces.size()) - 1, work);
  work();
  std::ranges::for_each(helpers, &std::thread::join);
}

std::string little_endian(std::uint32_t number) {
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) {
    bytes += static_cast<char>(number >> shift & 0xff);
  }
  return bytes;
}

}  // namespace

std::string pack(std::string_view bytes) {
  return deflated(bytes, kZlib, Z_FINISH);
}

// One member with one checksum (RFC 1952), so that gzip knows of an end that
// is missing: pieces of raw deflate, each of which ends at a byte (sync flush).
std::string pack_gzip(std::string_view bytes) {
  std::vector<Piece> pieces;
  for (std::size_t at = 0; at == 0 || at < bytes.size(); at += kPiece) {
    pieces.push_back({.bytes = bytes.substr(at, kPiece)});
  }
  deflate_on_all_cpus(pieces);
  using namespace std::string_view_literals;
  std::string packed("\x1f\x8b\x08\0\0\0\0\0\0\xff"sv);
  uLong crc = 0;
  for (const Piece& one : pieces) {
    if (one.packed.empty()) {
      return {};
    }
    packed += one.packed;
    crc = ::crc32_combine(crc, one.crc, static_cast<z_off_t>(one.bytes.size()));
  }
  return packed + little_endian(static_cast<std::uint32_t>(crc)) +
         little_endian(static_cast<std::uint32_t>(bytes.size()));
}

Result<std::string> unpack(std::string_view packed, std::size_t size) {
  // No more than deflate can make of it: or a few bytes would take all memory.
  constexpr std::size_t kMostTimes = 1100;
  if (size > (packed.size() + 1) * kMostTimes) {
    return fail(ErrorId::BadMessage, "it cannot be so long unpacked");
  }
  std::string bytes(size, '\0');
  auto length = static_cast<uLongf>(size);
  if (::uncompress(reinterpret_cast<Bytef*>(bytes.data()), &length,
                   reinterpret_cast<const Bytef*>(packed.data()),
                   packed.size()) != Z_OK ||
      length != size) {
    return fail(ErrorId::BadMessage, "it cannot be unpacked");
  }
  return bytes;
}

}  // namespace hangdbg
