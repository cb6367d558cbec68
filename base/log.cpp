// Logs: one spdlog logger an area, each with a stderr sink of its own level
// and one ring that they share. The only file that includes spdlog.
#include "base/log.h"

#define SPDLOG_FMT_EXTERNAL
#define SPDLOG_LEVEL_NAMES \
  { "trace", "debug", "info", "warn", "error", "critical", "off" }
#include <spdlog/logger.h>
#include <spdlog/sinks/ringbuffer_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "base/text.h"

namespace hangdbg::log {
namespace {

using spdlog::level::level_enum;
using Ring = spdlog::sinks::ringbuffer_sink_mt;
using Stderr = spdlog::sinks::stderr_sink_mt;

constexpr std::size_t kRingLines = 512;
constexpr const char* kPattern = "%H:%M:%S.%f %n %l %v";

// In the order of Area and of Level.
constexpr std::array<std::string_view, 8> kAreas = {
    "base",  "tracee", "inspector", "injector",
    "agent", "dap",    "server",    "client"};
constexpr std::array<std::string_view, 6> kLevels = {"trace", "debug", "info",
                                                     "warn",  "error", "off"};
constexpr std::array kSpdlogLevels = {level_enum::trace, level_enum::debug,
                                      level_enum::info,  level_enum::warn,
                                      level_enum::err,   level_enum::off};

struct Channel {
  std::shared_ptr<Stderr> to_stderr;
  std::unique_ptr<spdlog::logger> logger;

  void show_from(level_enum level) const {
    to_stderr->set_level(level);
    logger->set_level(std::min(level, level_enum::debug));
  }
};

struct Channels {
  std::shared_ptr<Ring> ring = std::make_shared<Ring>(kRingLines);
  std::array<Channel, kAreas.size()> by_area;

  Channels() {
    ring->set_pattern(kPattern);
    for (std::size_t i = 0; i < kAreas.size(); ++i) {
      Channel& channel = by_area[i];
      channel.to_stderr = std::make_shared<Stderr>();
      channel.to_stderr->set_pattern(kPattern);
      channel.logger = std::make_unique<spdlog::logger>(
          std::string(kAreas[i]),
          spdlog::sinks_init_list{ring, channel.to_stderr});
      channel.show_from(level_enum::off);
    }
  }
};

// Never destroyed: a thread may log while the program exits.
Channels& channels() {
  static Channels& instance = *new Channels;
  return instance;
}

spdlog::logger& logger(Area area) {
  return *channels().by_area[static_cast<std::size_t>(area)].logger;
}

level_enum to_spdlog(Level level) {
  return kSpdlogLevels[static_cast<std::size_t>(level)];
}

template <std::size_t N>
std::optional<std::size_t> index_of(
    const std::array<std::string_view, N>& names,
    std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    return std::nullopt;
  }
  return found - names.begin();
}

template <std::size_t N>
std::unexpected<Error> unknown(const char* what,
                               std::string_view word,
                               const std::array<std::string_view, N>& known) {
  return fail(
      ErrorId::Usage,
      fmt::format("--log: no {} is called \"{}\"", what, printable(word)),
      fmt::format("one of {}", fmt::join(known, " ")));
}

// "area" or "area:level".
Status configure_one(std::string_view word) {
  const std::size_t colon = word.find(':');
  const std::string_view area_name = word.substr(0, colon);
  const std::string_view level_name =
      colon == std::string_view::npos ? "debug" : word.substr(colon + 1);
  const auto level = index_of(kLevels, level_name);
  if (!level) {
    return unknown("level", level_name, kLevels);
  }
  if (area_name == "all") {
    for (const Channel& channel : channels().by_area) {
      channel.show_from(kSpdlogLevels[*level]);
    }
    return {};
  }
  const auto area = index_of(kAreas, area_name);
  if (!area) {
    return unknown("area", area_name, kAreas);
  }
  channels().by_area[*area].show_from(kSpdlogLevels[*level]);
  return {};
}

}  // namespace

Status configure(std::string_view spec) {
  for (const std::string_view word : split(spec, ',')) {
    TRY(configure_one(trim(word)));
  }
  return {};
}

bool enabled(Area area, Level level) {
  return logger(area).should_log(to_spdlog(level));
}

void write(Area area, Level level, std::string_view line) {
  // Much of what is logged comes from the target.
  logger(area).log(to_spdlog(level), printable(line));
}

std::vector<std::string> ring() {
  std::vector<std::string> lines = channels().ring->last_formatted();
  for (std::string& line : lines) {
    line.erase(line.find_last_not_of('\n') + 1);
  }
  return lines;
}

}  // namespace hangdbg::log
