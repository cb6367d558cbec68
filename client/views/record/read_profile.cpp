#include "client/views/record/read_profile.h"

#include <fmt/core.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "base/text.h"
#include "client/options/input_file.h"
#include "client/terminal/render.h"
#include "protocol/json.h"
#include "protocol/reports/recorded_lines.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostProfileBytes = std::size_t{1} << 30;
constexpr std::uint64_t kMostWeight = 1'000'000'000'000'000;

// Adds up what the lines tell.
class ProfileBuilder {
 public:
  // `runs`: each stack is of a run of samples, and not of many of them.
  explicit ProfileBuilder(bool runs) : runs_(runs) {
    read_.profile.add_thread({});
  }

  // Outermost first.
  Status add(const std::vector<ProfilePlace>& stack, std::uint64_t weight) {
    if (weight == 0 || weight > kMostWeight - read_.profile.weight()) {
      return fail(ErrorId::BadMessage, "no number of samples");
    }
    std::uint32_t node = Profile::kRoot;
    for (const ProfilePlace& place : stack) {
      node = read_.profile.child(node, place);
    }
    read_.profile.add(0, node, 0, weight);
    read_.squares.resize(read_.profile.nodes().size());
    const auto size = static_cast<double>(weight);
    read_.squares[node] += runs_ ? size * size : size;
    return {};
  }
  ReadProfile take() { return std::move(read_); }
  void set_lasted(double seconds) { read_.lasted_s = seconds; }

 private:
  ReadProfile read_;
  bool runs_;
};

ProfilePlace wait_place(std::string reason) {
  return {.kind = ProfilePlace::Kind::Wait, .function = std::move(reason)};
}

Status add_json_line(std::string_view line, ProfileBuilder& builder) {
  const auto run = TRY(decode<reports::RecordedRun>(TRY(Json::parse(line))));
  std::vector<ProfilePlace> stack;
  for (const reports::RecordedFrame& frame : run.stack) {
    stack.push_back({.function = frame.function,
                     .file = std::string(short_path(frame.file))});
  }
  if (run.wait) {
    stack.push_back(wait_place(*run.wait));
  }
  return builder.add(stack, static_cast<std::uint64_t>(
                                std::max<std::int64_t>(run.samples, 0)));
}

// "wait (file_baton.py:42)"; the label of a process or thread; a reason.
ProfilePlace collapsed_place(std::string_view label) {
  const std::size_t open = label.rfind(" (");
  const std::size_t colon = label.rfind(':');
  if (open != label.npos && colon != label.npos && colon > open &&
      label.ends_with(')') &&
      parse_number<int>(label.substr(colon + 1, label.size() - colon - 2))) {
    return {.function = std::string(label.substr(0, open)),
            .file = std::string(label.substr(open + 2, colon - open - 2))};
  }
  if (label.starts_with("waits in ") || label.starts_with("waits for ")) {
    return wait_place(std::string(label));
  }
  return {.kind = ProfilePlace::Kind::Process, .function = std::string(label)};
}

Status add_collapsed_line(std::string_view line, ProfileBuilder& builder) {
  const std::size_t space = line.rfind(' ');
  const auto weight = space == line.npos
                          ? std::nullopt
                          : parse_number<std::uint64_t>(line.substr(space + 1));
  if (!weight) {
    return fail(ErrorId::BadMessage,
                "neither a collapsed stack nor written by `record -f jsonl`");
  }
  std::vector<ProfilePlace> stack;
  for (std::string_view rest = line.substr(0, space); !rest.empty();) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    stack.push_back(collapsed_place(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return builder.add(stack, *weight);
}

}  // namespace

Result<ReadProfile> read_profile(const std::string& path) {
  const auto with_path = [&path](const Error& error) {
    return fail(ErrorId::Usage,
                fmt::format("{}: {}", printable(path), printable(error.text())),
                "hangdbg record PID -o profile.jsonl");
  };
  const auto text = read_input(path, kMostProfileBytes);
  if (!text) {
    return with_path(text.error());
  }
  auto read = parse_profile(*text);
  if (!read) {
    return with_path(read.error());
  }
  read->path = path;
  return read;
}

Result<ReadProfile> parse_profile(std::string_view text) {
  if (trim(text).empty()) {
    return fail(ErrorId::BadMessage, "empty file");
  }
  const bool json = text.starts_with('{');
  ProfileBuilder builder(json);
  std::size_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    Status done;
    if (trim(line).empty()) {
      continue;
    }
    if (!json) {
      done = add_collapsed_line(line, builder);
    } else if (number > 1) {
      done = add_json_line(line, builder);
    } else {
      const auto parsed = Json::parse(line);
      const auto head = parsed ? decode<reports::RecordedHead>(*parsed)
                               : std::unexpected(parsed.error());
      if (head && head->lasted_s > 0) {
        builder.set_lasted(head->lasted_s);
      } else {
        done = fail(ErrorId::BadMessage,
                    "neither collapsed stacks nor written by `record -f "
                    "jsonl`");
      }
    }
    if (!done) {
      return fail(ErrorId::BadMessage,
                  fmt::format("line {}: {}", number, done.error().text()));
    }
  }
  return builder.take();
}

}  // namespace hangdbg
