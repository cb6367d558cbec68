// The formats in which a profile is written. One function each, in a file of
// its own; all have what they need in a RecordedProfile.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/profile/profile.h"
#include "profiler/sampling/recording.h"

namespace hangdbg {

struct RecordedProfile {
  const Profile& profile;
  const RecordingState& state;
  double rate = 100;  // Hz, that was asked for: one unit is its period
  std::string title;  // "process 79655 (python train.py)"
  std::chrono::system_clock::time_point began;
  bool waits = false;             // with the reasons of waits
  std::map<int, int> ranks = {};  // by pid, where all are in one tree

  double seconds(std::uint64_t units) const {
    return static_cast<double>(units) / rate;
  }
};

struct ProfileFormat {
  std::string_view name;
  std::string_view suffix;  // of files that get it without being told
  bool keeps_order;         // needs a profile that does
  std::string (*write)(const RecordedProfile& recorded);
};

std::span<const ProfileFormat> profile_formats();
// By its name, also by those that py-spy has ("raw", "chrometrace"); or by a
// file's suffix. Null: none.
const ProfileFormat* find_format(std::string_view name);
const ProfileFormat* format_of_file(std::string_view path);

// "function;function 12": one line a stack, as flamegraph.pl reads it.
std::string write_collapsed(const RecordedProfile& recorded);
// https://www.speedscope.app/file-format-schema.json
std::string write_speedscope(const RecordedProfile& recorded);
// Chrome's trace events, which Perfetto reads as well.
std::string write_chrome_trace(const RecordedProfile& recorded);
// A JSON object a line: first the recording, then each run of equal stacks.
std::string write_json_lines(const RecordedProfile& recorded);
// What Python's pstats reads. Samples are in place of the number of calls.
std::string write_pstats(const RecordedProfile& recorded);
// One page: no network, no script but for search and zoom.
std::string write_flame_graph(const RecordedProfile& recorded);
// What profiler.firefox.com imports: Gecko's format.
std::string write_gecko(const RecordedProfile& recorded);
// profile.proto of pprof, not compressed.
std::string write_pprof(const RecordedProfile& recorded);

// ---- what several of them use

// "wait (torch/utils/file_baton.py:42)"; the label of a process or a thread.
std::string frame_label(const ProfilePlace& place);
// The line that it is at, or where its function begins.
int line_of(const ProfilePlace& place);
// A JSON string, with its quotes.
std::string json_text(std::string_view text);

}  // namespace hangdbg
