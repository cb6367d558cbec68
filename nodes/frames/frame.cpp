#include "nodes/frames/frame.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/text.h"
#include "protocol/base64.h"

namespace hangdbg {
namespace {

constexpr std::string_view kMark = "hangdbg1~";
constexpr std::size_t kMostLabel = 255;
constexpr std::size_t kKeptNoise = 200;
constexpr std::size_t kMostStream = 32;
constexpr std::string_view kTypes = "HAOELXN";

std::uint32_t checksum(std::string_view head, std::string_view payload) {
  const auto add = [](uLong sum, std::string_view bytes) {
    // Of no bytes at no address zlib would begin anew.
    return bytes.empty()
               ? sum
               : crc32_z(sum, reinterpret_cast<const Bytef*>(bytes.data()),
                         bytes.size());
  };
  return static_cast<std::uint32_t>(add(add(0, head), payload));
}

// "n3: ", "3: " or "[1,0]<stdout>: ", as pdsh, srun and mpirun write it.
std::string label_of(std::string_view before) {
  before = trim(before);
  if (before.ends_with(':')) {
    before.remove_suffix(1);
  }
  // A login's noise without an end of line may precede it.
  const auto space = before.find_last_of(" \t:");
  return printable(
             before.substr(space == std::string_view::npos ? 0 : space + 1))
      .substr(0, kMostLabel);
}

bool is_stream_name(std::string_view name) {
  return !name.empty() && name.size() <= kMostStream &&
         std::ranges::all_of(name, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
         });
}

// Behind the mark. What is wrong with it, if anything is.
std::string parse_frame(std::string_view text, Frame& frame) {
  std::array<std::string_view, 6> fields;
  std::string_view rest = text;
  for (std::string_view& field : fields) {
    const auto end = rest.find('~');
    if (end == std::string_view::npos) {
      return "cut off";
    }
    field = rest.substr(0, end);
    rest.remove_prefix(end + 1);
  }
  const auto& [stream, number, type, length, crc, payload] = fields;
  const auto count = parse_number<std::uint32_t>(number);
  const auto size = parse_number<std::uint32_t>(length);
  const auto sum = parse_number<std::uint32_t>(crc, 16);
  if (!is_stream_name(stream) || !count || !size || !sum || type.size() != 1) {
    return "malformed";
  }
  if (kTypes.find(type.front()) == std::string_view::npos) {
    return fmt::format("of unknown type {}", printable(type));
  }
  auto bytes = from_base64(payload);
  if (!bytes || bytes->size() != *size || *size > kFramePayload) {
    return "of wrong length";
  }
  const std::string_view head =
      text.substr(0, static_cast<std::size_t>(crc.data() - text.data()));
  if (checksum(head, *bytes) != *sum) {
    return "with a wrong checksum";
  }
  frame.stream = stream;
  frame.number = *count;
  frame.type = static_cast<FrameType>(type.front());
  frame.payload = *std::move(bytes);
  return {};
}

}  // namespace

std::string frame_line(std::string_view stream,
                       std::uint32_t number,
                       FrameType type,
                       std::string_view payload) {
  const std::string head = fmt::format("{}~{}~{}~{}~", stream, number,
                                       static_cast<char>(type), payload.size());
  return fmt::format("{}{}{:08x}~{}~\n", kMark, head, checksum(head, payload),
                     to_base64(payload));
}

std::vector<FromNode> FrameReader::feed(std::string_view bytes) {
  std::vector<FromNode> found;
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    const std::size_t room = kMostFrameLine + kMostLabel - line_.size();
    line_ += piece.substr(0, room);
    too_long_ = too_long_ || piece.size() > room;
    if (end == std::string_view::npos) {
      break;
    }
    take_line(found);
    bytes.remove_prefix(end + 1);
  }
  return found;
}

std::vector<FromNode> FrameReader::finish() {
  std::vector<FromNode> found;
  if (!line_.empty()) {
    take_line(found);
  }
  return found;
}

void FrameReader::take_line(std::vector<FromNode>& into) {
  const std::string line = std::exchange(line_, {});
  const bool too_long = std::exchange(too_long_, false);
  const std::string_view text = trim(line);
  const auto mark = text.find(kMark);
  if (mark == std::string_view::npos) {
    if (!text.empty()) {
      into.emplace_back(
          NoiseLine{printable(text.substr(0, kKeptNoise)) +
                    (too_long || text.size() > kKeptNoise ? "..." : "")});
    }
    return;
  }
  Frame frame{.label = label_of(text.substr(0, mark))};
  std::string why = too_long
                        ? "too long"
                        : parse_frame(text.substr(mark + kMark.size()), frame);
  if (why.empty()) {
    into.emplace_back(std::move(frame));
  } else {
    into.emplace_back(BrokenFrame{std::move(frame.label), std::move(why)});
  }
}

}  // namespace hangdbg
