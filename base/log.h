// Logs by area and level, and a ring buffer of the last lines.
//
// `--log=injector:debug,dap:trace` chooses what reaches stderr; everything
// from debug up goes to the ring regardless, and is shown when a command
// fails in an unforeseen way. spdlog is behind this header and in no
// other file, so that its headers cost one compile.
#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hangdbg::log {

enum class Area {
  Base,
  Tracee,
  Inspector,
  Injector,
  Agent,
  Dap,
  Server,
  Client
};
enum class Level { Trace, Debug, Info, Warn, Error, Off };

// "area:level,area:level"; an area alone means debug, "all" means each area.
// Levels: trace debug info warn error off. Error: Usage, naming the bad word.
Status configure(std::string_view spec);

// Whether a line would go anywhere (stderr or ring): guards costly arguments.
bool enabled(Area area, Level level);

void write(Area area, Level level, std::string_view line);

// The last lines, oldest first, each "HH:MM:SS.uuuuuu area level text".
std::vector<std::string> ring();

template <class... Args>
void trace(Area area, fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(area, Level::Trace)) {
    write(area, Level::Trace, fmt::format(format, std::forward<Args>(args)...));
  }
}
template <class... Args>
void debug(Area area, fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(area, Level::Debug)) {
    write(area, Level::Debug, fmt::format(format, std::forward<Args>(args)...));
  }
}
template <class... Args>
void info(Area area, fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(area, Level::Info)) {
    write(area, Level::Info, fmt::format(format, std::forward<Args>(args)...));
  }
}
template <class... Args>
void warn(Area area, fmt::format_string<Args...> format, Args&&... args) {
  if (enabled(area, Level::Warn)) {
    write(area, Level::Warn, fmt::format(format, std::forward<Args>(args)...));
  }
}

}  // namespace hangdbg::log
