#include "nodes/frames/pack.h"

#include <zlib.h>

namespace hangdbg {
namespace {

constexpr int kZlib = 15;
constexpr int kGzip = 15 + 16;

std::string deflated(std::string_view bytes, int level, int form) {
  z_stream stream{};
  if (::deflateInit2(&stream, level, Z_DEFLATED, form, 9, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    return {};
  }
  std::string packed(::deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  ::deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  return packed;
}

}  // namespace

std::string pack(std::string_view bytes) {
  return deflated(bytes, 6, kZlib);
}

std::string pack_gzip(std::string_view bytes, int level) {
  return deflated(bytes, level, kGzip);
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
