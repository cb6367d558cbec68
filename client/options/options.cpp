#include "client/options/options.h"

#include <fmt/core.h>

#include <chrono>

#include "base/log.h"
#include "base/text.h"

namespace hangdbg {

Deadline CommonOptions::deadline() const {
  return Deadline::in(std::chrono::duration_cast<Deadline::Clock::duration>(
      std::chrono::duration<double>(timeout_s)));
}

Status CommonOptions::configure_log() const {
  return log.empty() ? Status() : log::configure(log);
}

void add_common_options(cli::Command command,
                        CommonOptions& options,
                        const std::string& log_flag) {
  command
      .add_choice(
          "--color", {"auto", "always", "never"},
          [&options](int place) {
            options.colour = static_cast<ColourChoice>(place);
          },
          "Use colour (default auto: on a terminal, unless NO_COLOR is set)")
      .common();
  command
      .add_option(
          "--timeout", options.timeout_s,
          fmt::format("Give up after this many seconds (default {:.0f})",
                      options.timeout_s))
      .type_name("SECONDS")
      .in_range(0.001, 1e6)
      .common();
  command
      .add_option(log_flag, options.log,
                  "Log to stderr, e.g. injector:debug,dap:trace or all:debug")
      .type_name("AREA:LEVEL,...")
      .common();
}

void add_json_option(cli::Command command, CommonOptions& options) {
  command
      .add_flag("-j,--json", options.json,
                "Print JSON on stdout; {\"error\": ...} on failure")
      .common();
}

void add_pid_option(cli::Command command, TargetOption& option) {
  command.add_option("PID", option.positional, "PID of the process to inspect")
      .bare();
  command.add_option("-p,--pid", option.flag, "PID of the process to inspect")
      .type_name("PID");
}

void add_place_options(cli::Command command, PlaceOptions& options) {
  command
      .add_option("--thread", options.thread,
                  "Use this thread: its ID, its name or main (default: main, "
                  "unless that only waits for another thread)")
      .type_name("TID|NAME|main");
  command
      .add_option(
          "--frame",
          [&options](const std::string& word) -> Status {
            options.frame = TRY(FrameSelector::parse(word));
            return {};
          },
          "Use this frame: its number (default 0, the innermost), the "
          "innermost of FUNCTION, or own: the innermost outside libraries")
      .type_name("N|FUNCTION|own");
}

Result<int> parse_pid(std::string_view word) {
  if (const auto pid = parse_number<int>(word); pid && *pid > 0) {
    return *pid;
  }
  return fail(ErrorId::Usage,
              fmt::format("\"{}\" is not a PID", printable(word)),
              "hangdbg ps");
}

}  // namespace hangdbg
