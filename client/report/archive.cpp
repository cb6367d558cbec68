#include "client/report/archive.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/text.h"

namespace hangdbg {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::string_view kNoTar = "gzip file without a tar archive in it";
constexpr int kGzip = 15 + 16;  // zlib.h: the largest window, and a gzip header

// Where a header has what, as pax(1) tells.
struct Field {
  std::size_t at, size;
};
constexpr Field kName{0, 100};
constexpr Field kModeInArchive{100, 8};
constexpr Field kOwner{108, 8};
constexpr Field kGroup{116, 8};
constexpr Field kSize{124, 12};
constexpr Field kTime{136, 12};
constexpr Field kSum{148, 8};
constexpr std::size_t kType = 156;
constexpr Field kMagic{257, 8};
constexpr char kPlainFile = '0';
constexpr char kOldPlainFile = '\0';

std::string header_of(const ArchivedFile& file, std::int64_t time);
void put(std::string& header, Field field, std::string_view text);
void put_number(std::string& header, Field field, std::uint64_t number);
std::uint64_t sum_of(std::string_view header);
std::optional<std::uint64_t> number_at(std::string_view header, Field field);
Result<std::string> compress(const std::string& plain);
Result<std::string> decompress(std::string_view bytes, std::size_t most);
std::size_t padded(std::size_t size);

}  // namespace

Result<std::string> pack(const std::vector<ArchivedFile>& files,
                         std::int64_t time) {
  std::string tar;
  for (const ArchivedFile& file : files) {
    tar += header_of(file, time);
    tar += file.text;
    tar.resize(padded(tar.size()));
  }
  tar.resize(tar.size() + 2 * kBlock);  // its end
  return compress(tar);
}

Result<std::vector<ArchivedFile>> unpack(std::string_view bytes,
                                         std::size_t most) {
  const std::string plain = TRY(decompress(bytes, most));
  std::vector<ArchivedFile> files;
  std::string_view left = plain;
  if (left.size() < kBlock) {
    return fail(ErrorId::BadMessage, std::string(kNoTar));
  }
  while (left.size() >= kBlock && left[0] != '\0') {
    const std::string_view header = left.substr(0, kBlock);
    const auto size = number_at(header, kSize);
    if (!size || number_at(header, kSum) != sum_of(header)) {
      return fail(ErrorId::BadMessage, std::string(kNoTar));
    }
    left.remove_prefix(kBlock);
    if (*size > left.size()) {
      return fail(ErrorId::BadMessage,
                  "truncated: ends in the middle of a file");
    }
    if (header[kType] == kPlainFile || header[kType] == kOldPlainFile) {
      const std::string_view name = header.substr(kName.at, kName.size);
      files.push_back({std::string(name.substr(0, name.find('\0'))),
                       std::string(left.substr(0, *size))});
    }
    left.remove_prefix(std::min(padded(*size), left.size()));
  }
  return files;
}

bool is_gzip(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b");
}

namespace {

std::string header_of(const ArchivedFile& file, std::int64_t time) {
  std::string header(kBlock, '\0');
  put(header, kName, file.name);
  put_number(header, kModeInArchive, 0600);
  put_number(header, kOwner, 0);
  put_number(header, kGroup, 0);
  put_number(header, kSize, file.text.size());
  put_number(header, kTime, static_cast<std::uint64_t>(time));
  header[kType] = kPlainFile;
  put(header, kMagic, std::string_view("ustar\00000", kMagic.size));
  put_number(header, kSum, sum_of(header));
  return header;
}

void put(std::string& header, Field field, std::string_view text) {
  std::ranges::copy(text.substr(0, field.size),
                    header.begin() + static_cast<std::ptrdiff_t>(field.at));
}

void put_number(std::string& header, Field field, std::uint64_t number) {
  put(header, field, fmt::format("{:0{}o}", number, field.size - 1));
}

// Of all bytes, with the sum's own as spaces.
std::uint64_t sum_of(std::string_view header) {
  std::uint64_t sum = kSum.size * ' ';
  for (std::size_t i = 0; i < header.size(); ++i) {
    const bool own = i >= kSum.at && i < kSum.at + kSum.size;
    sum += own ? 0 : static_cast<unsigned char>(header[i]);
  }
  return sum;
}

std::optional<std::uint64_t> number_at(std::string_view header, Field field) {
  std::string_view digits = header.substr(field.at, field.size);
  digits = trim(digits.substr(0, digits.find('\0')));
  return parse_number<std::uint64_t>(digits, 8);
}

Result<std::string> compress(const std::string& plain) {
  z_stream stream{};
  if (::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
    return fail(ErrorId::System, "zlib is out of memory");
  }
  std::string packed(::deflateBound(&stream, plain.size()), '\0');
  // zlib writes nothing there: that it is no const is an option of its build.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int done = ::deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  if (done != Z_STREAM_END) {
    return fail(ErrorId::System, "zlib cannot compress it");
  }
  return packed;
}

Result<std::string> decompress(std::string_view bytes, std::size_t most) {
  z_stream stream{};
  if (::inflateInit2(&stream, kGzip) != Z_OK) {
    return fail(ErrorId::System, "zlib is out of memory");
  }
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string plain;
  std::array<char, 1 << 16> buffer{};
  int done = Z_OK;
  while (done == Z_OK && plain.size() <= most) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = buffer.size();
    done = ::inflate(&stream, Z_NO_FLUSH);
    plain.append(buffer.data(), buffer.size() - stream.avail_out);
  }
  ::inflateEnd(&stream);
  if (plain.size() > most) {
    return fail(ErrorId::BadMessage,
                fmt::format("unpacks to more than {} MB", most >> 20));
  }
  if (done != Z_STREAM_END) {
    return fail(ErrorId::BadMessage, "truncated or damaged gzip file");
  }
  return plain;
}

std::size_t padded(std::size_t size) {
  return (size + kBlock - 1) / kBlock * kBlock;
}

}  // namespace
}  // namespace hangdbg
