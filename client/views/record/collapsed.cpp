#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "client/views/record/formats.h"

namespace hangdbg {
namespace {

// A semicolon ends a frame, and a line a stack.
std::string collapsed_label(const ProfilePlace& place) {
  std::string label = printable(frame_label(place));
  std::ranges::replace(label, ';', ':');
  return label;
}

}  // namespace

std::string write_collapsed(const RecordedProfile& recorded) {
  const Profile& profile = recorded.profile;
  std::vector<std::string> labels;
  for (const ProfilePlace& place : profile.places()) {
    labels.push_back(collapsed_label(place));
  }
  std::map<std::string, std::uint64_t> stacks;
  for (std::uint32_t i = 1; i < profile.nodes().size(); ++i) {
    if (profile.nodes()[i].own == 0) {
      continue;
    }
    std::string stack;
    for (const std::uint32_t node : profile.path(i)) {
      stack += (stack.empty() ? "" : ";") + labels[profile.nodes()[node].place];
    }
    stacks[stack] += profile.nodes()[i].own;
  }
  std::string text;
  for (const auto& [stack, weight] : stacks) {
    text += fmt::format("{} {}\n", stack, weight);
  }
  return text;
}

}  // namespace hangdbg
