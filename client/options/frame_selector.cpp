#include "client/options/frame_selector.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "client/terminal/render.h"
#include "client/terminal/typed.h"

namespace hangdbg {
namespace {

// "train" is Trainer.train and outer.<locals>.train too.
bool is_called(std::string_view function, std::string_view name) {
  return function == name ||
         (function.ends_with(name) &&
          function[function.size() - name.size() - 1] == '.');
}

}  // namespace

FrameSelector FrameSelector::own() {
  FrameSelector choice;
  choice.own_ = true;
  return choice;
}

Result<FrameSelector> FrameSelector::parse(std::string_view word) {
  FrameSelector choice;
  choice.given_ = true;
  if (const auto number = parse_number<int>(word)) {
    if (*number >= 0) {
      choice.number_ = static_cast<std::size_t>(*number);
      return choice;
    }
  } else if (word == "own") {
    choice.own_ = true;
    return choice;
  } else if (!word.empty() && word[0] != '-') {
    choice.function_ = word;
    return choice;
  }
  return fail(
      ErrorId::Usage,
      fmt::format(
          "--frame: {} is neither a frame number, a function, nor \"own\"",
          printable(word)),
      "--frame 0 (the innermost)");
}

std::string FrameSelector::text() const {
  return own_                 ? "own"
         : !function_.empty() ? function_
                              : fmt::format("{}", number_);
}

Result<std::size_t> FrameSelector::find(const std::vector<FrameName>& frames,
                                        std::string_view thread) const {
  const auto found = std::ranges::find_if(frames, [&](const FrameName& frame) {
    return own_ ? !is_library_path(frame.file)
                : !function_.empty() && is_called(frame.function, function_);
  });
  if (found != frames.end()) {
    return static_cast<std::size_t>(found - frames.begin());
  }
  if (number_ < frames.size() && function_.empty()) {
    return number_;
  }
  return fail(
      ErrorId::NoSuchFrame,
      function_.empty() ? fmt::format("{} has no frame {}", thread, number_)
                        : fmt::format("{} has no frame in function {}", thread,
                                      printable(function_)),
      frames.empty()
          ? "it runs no Python code now"
          : typed_with("--frame", fmt::format("{}", frames.size() - 1)));
}

}  // namespace hangdbg
