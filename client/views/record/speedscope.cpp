#include <fmt/core.h>

#include "client/views/record/formats.h"

namespace hangdbg {
namespace {

std::string speedscope_frames(const Profile& profile) {
  std::string frames;
  for (const ProfilePlace& place : profile.places()) {
    frames += fmt::format(
        "{}{{\"name\":{}", frames.empty() ? "" : ",",
        json_text(place.function.empty() ? "(root)" : place.function));
    if (place.kind == ProfilePlace::Kind::Frame && !place.file.empty()) {
      frames += fmt::format(",\"file\":{},\"line\":{}", json_text(place.file),
                            line_of(place));
    }
    frames += "}";
  }
  return frames;
}

}  // namespace

// Each stack once, with its weight: the order is not kept.
std::string write_speedscope(const RecordedProfile& recorded) {
  const Profile& profile = recorded.profile;
  std::string samples;
  std::string weights;
  for (std::uint32_t i = 1; i < profile.nodes().size(); ++i) {
    if (profile.nodes()[i].own == 0) {
      continue;
    }
    std::string stack;
    for (const std::uint32_t node : profile.path(i)) {
      stack += fmt::format("{}{}", stack.empty() ? "" : ",",
                           profile.nodes()[node].place);
    }
    samples += fmt::format("{}[{}]", samples.empty() ? "" : ",", stack);
    weights += fmt::format("{}{}", weights.empty() ? "" : ",",
                           recorded.seconds(profile.nodes()[i].own));
  }
  return fmt::format(
      R"({{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"hangdbg","name":{0},"activeProfileIndex":0,"shared":{{"frames":[{1}]}},"profiles":[{{"type":"sampled","name":{0},"unit":"seconds","startValue":0,"endValue":{2},"samples":[{3}],"weights":[{4}]}}]}})"
      "\n",
      json_text(recorded.title), speedscope_frames(profile),
      recorded.seconds(profile.weight()), samples, weights);
}

}  // namespace hangdbg
