#include "client/views/record/formats.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "client/terminal/render.h"
#include "protocol/json.h"

namespace hangdbg {
namespace {

constexpr std::array<ProfileFormat, 8> kProfileFormats = {{
    {"flamegraph", ".html", false, write_flame_graph},
    {"speedscope", ".speedscope.json", false, write_speedscope},
    {"collapsed", ".txt", false, write_collapsed},
    {"pstats", ".pstats", false, write_pstats},
    {"gecko", ".gecko.json", true, write_gecko},
    {"pprof", ".pb", false, write_pprof},
    {"chrome", ".json", true, write_chrome_trace},
    {"jsonl", ".jsonl", true, write_json_lines},
}};

}  // namespace

std::span<const ProfileFormat> profile_formats() {
  return kProfileFormats;
}

const ProfileFormat* find_format(std::string_view name) {
  const std::string_view ours = name == "raw"           ? "collapsed"
                                : name == "chrometrace" ? "chrome"
                                                        : name;
  const auto found =
      std::ranges::find(kProfileFormats, ours, &ProfileFormat::name);
  return found == kProfileFormats.end() ? nullptr : &*found;
}

const ProfileFormat* format_of_file(std::string_view path) {
  const auto found =
      std::ranges::find_if(kProfileFormats, [&](const ProfileFormat& format) {
        return path.ends_with(format.suffix);
      });
  return found == kProfileFormats.end() ? nullptr : &*found;
}

std::string frame_label(const ProfilePlace& place) {
  if (place.kind != ProfilePlace::Kind::Frame) {
    return to_utf8(place.function);
  }
  const int line = line_of(place);
  return to_utf8(fmt::format("{} ({}{})", place.function,
                             short_path(place.file),
                             line > 0 ? fmt::format(":{}", line) : ""));
}

int line_of(const ProfilePlace& place) {
  return place.line > 0 ? place.line : place.first_line;
}

std::string json_text(std::string_view text) {
  return encode(to_utf8(text)).dump();
}

}  // namespace hangdbg
