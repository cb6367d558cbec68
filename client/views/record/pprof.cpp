#include <algorithm>
#include <map>
#include <ranges>
#include <utility>

#include "base/text.h"
#include "client/views/record/formats.h"

namespace hangdbg {
namespace {

// A message of protocol buffers, as far as it is needed.
class ProtoMessage {
 public:
  void number(int field, std::uint64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3);
    varint(value);
  }
  void bytes(int field, std::string_view text) {
    varint(static_cast<std::uint64_t>(field) << 3 | 2);
    varint(text.size());
    out_ += text;
  }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) {
      out_ += static_cast<char>(value | 0x80);
    }
    out_ += static_cast<char>(value);
  }
  const std::string& text() const { return out_; }

 private:
  std::string out_;
};

// profile.proto's table of strings: the first is empty.
class PprofStrings {
 public:
  PprofStrings() { id(""); }
  std::uint64_t id(const std::string& text) {
    const auto [found, is_new] = ids_.try_emplace(text, ids_.size());
    if (is_new) {
      all_.push_back(text);
    }
    return found->second;
  }
  const std::vector<std::string>& all() const { return all_; }

 private:
  std::map<std::string, std::uint64_t> ids_;
  std::vector<std::string> all_;
};

std::string value_type(PprofStrings& strings,
                       const char* type,
                       const char* unit) {
  ProtoMessage message;
  message.number(1, strings.id(type));
  message.number(2, strings.id(unit));
  return message.text();
}

}  // namespace

// A location for each place, and a function for each of them as well: the ids
// are the place's, which for the root is 0 and not used.
std::string write_pprof(const RecordedProfile& recorded) {
  const Profile& profile = recorded.profile;
  const auto period = static_cast<std::uint64_t>(recorded.seconds(1) * 1e9);
  PprofStrings strings;
  ProtoMessage out;
  out.bytes(1, value_type(strings, "samples", "count"));
  out.bytes(1, value_type(strings, "wall", "nanoseconds"));
  for (std::uint32_t i = 1; i < profile.nodes().size(); ++i) {
    const std::uint64_t own = profile.nodes()[i].own;
    if (own == 0) {
      continue;
    }
    ProtoMessage locations;
    for (const std::uint32_t node : std::views::reverse(profile.path(i))) {
      locations.varint(profile.nodes()[node].place);
    }
    ProtoMessage values;
    values.varint(own);
    values.varint(own * period);
    ProtoMessage sample;
    sample.bytes(1, locations.text());
    sample.bytes(2, values.text());
    out.bytes(2, sample.text());
  }
  for (std::uint32_t id = 1; id < profile.places().size(); ++id) {
    const ProfilePlace& place = profile.places()[id];
    ProtoMessage line;
    line.number(1, id);
    line.number(2, static_cast<std::uint64_t>(std::max(line_of(place), 0)));
    ProtoMessage location;
    location.number(1, id);
    location.bytes(4, line.text());
    out.bytes(4, location.text());
    ProtoMessage function;
    function.number(1, id);
    const std::uint64_t name = strings.id(to_utf8(place.function));
    function.number(2, name);
    function.number(3, name);
    function.number(4, strings.id(to_utf8(place.file)));
    function.number(5,
                    static_cast<std::uint64_t>(std::max(place.first_line, 0)));
    out.bytes(5, function.text());
  }
  const std::string period_type = value_type(strings, "wall", "nanoseconds");
  for (const std::string& text : strings.all()) {
    out.bytes(6, text);
  }
  const auto nanoseconds = [](auto duration) {
    return static_cast<std::uint64_t>(
        std::chrono::nanoseconds(duration).count());
  };
  out.number(9, nanoseconds(recorded.began.time_since_epoch()));
  out.number(10, nanoseconds(recorded.state.lasted));
  out.bytes(11, period_type);
  out.number(12, period);
  return out.text();
}

}  // namespace hangdbg
