#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "client/views/record/formats.h"

namespace hangdbg {
namespace {

// Python's marshal, as far as it is needed: all versions read it.
class Marshal {
 public:
  void tuple(std::uint8_t size) {
    out_ += ')';
    out_ += static_cast<char>(size);
  }
  void begin_dict() { out_ += '{'; }
  void end_dict() { out_ += '0'; }
  void text(std::string_view bytes) {
    const std::string utf8 = to_utf8(bytes);
    out_ += 'u';
    raw(static_cast<std::int32_t>(utf8.size()));
    out_ += utf8;
  }
  void number(std::uint64_t value) {
    constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
    out_ += 'i';
    raw(static_cast<std::int32_t>(std::min<std::uint64_t>(value, kMost)));
  }
  void number(double value) {
    out_ += 'g';
    raw(value);
  }
  std::string take() { return std::move(out_); }

 private:
  template <class T>
  void raw(T value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);  // little endian, as we are
    out_.append(bytes, sizeof value);
  }
  std::string out_;
};

struct PstatsTime {
  std::uint64_t own = 0, total = 0;
};
using PstatsKey = ProfilePlace;  // without its line
using PstatsCallers = std::map<PstatsKey, PstatsTime>;

PstatsKey pstats_key(const Profile& profile, std::uint32_t node) {
  ProfilePlace place = profile.places()[profile.nodes()[node].place];
  place.line = 0;
  return place;
}

void put_key(Marshal& out, const PstatsKey& key) {
  out.tuple(3);
  out.text(key.file);
  out.number(static_cast<std::uint64_t>(std::max(key.first_line, 0)));
  out.text(key.function);
}

void put_times(Marshal& out, const PstatsTime& time, double unit) {
  out.number(time.total);
  out.number(time.total);
  out.number(static_cast<double>(time.own) * unit);
  out.number(static_cast<double>(time.total) * unit);
}

// The callers of each function; a recursion counts once.
std::map<PstatsKey, PstatsCallers> callers_of(const Profile& profile) {
  std::map<PstatsKey, PstatsCallers> callers;
  for (std::uint32_t i = 1; i < profile.nodes().size(); ++i) {
    const std::uint64_t own = profile.nodes()[i].own;
    if (own == 0) {
      continue;
    }
    std::set<std::pair<PstatsKey, PstatsKey>> met;
    const auto path = profile.path(i);
    for (std::size_t at = 1; at < path.size(); ++at) {
      auto pair = std::pair(pstats_key(profile, path[at]),
                            pstats_key(profile, path[at - 1]));
      PstatsTime& time = callers[pair.first][pair.second];
      time.own += at + 1 == path.size() ? own : 0;
      if (met.insert(std::move(pair)).second) {
        time.total += own;
      }
    }
  }
  return callers;
}

}  // namespace

std::string write_pstats(const RecordedProfile& recorded) {
  const double unit = recorded.seconds(1);
  auto callers = callers_of(recorded.profile);
  Marshal out;
  out.begin_dict();
  for (const FunctionTime& function : function_times(recorded.profile)) {
    put_key(out, function.place);
    out.tuple(5);
    put_times(out, {function.own, function.total}, unit);
    out.begin_dict();
    for (const auto& [caller, time] : callers[function.place]) {
      if (caller.kind == ProfilePlace::Kind::Frame) {
        put_key(out, caller);
        out.tuple(4);
        put_times(out, time, unit);
      }
    }
    out.end_dict();
  }
  out.end_dict();
  return out.take();
}

}  // namespace hangdbg
