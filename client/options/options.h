// The flags that every command has, and the few that several share.
#pragma once

#include <string>
#include <string_view>

#include "base/deadline.h"
#include "base/result.h"
#include "client/options/cli.h"
#include "client/options/frame_selector.h"
#include "client/terminal/render.h"

namespace hangdbg {

struct CommonOptions {
  ColourChoice colour = ColourChoice::Auto;
  double timeout_s = 10;
  std::string log;    // as log::configure takes it
  bool json = false;  // where the command has that flag

  Deadline deadline() const;

  // Error: Usage.
  Status configure_log() const;
};

// --color, --timeout, --log (which `break` needs for something else).
void add_common_options(cli::Command command,
                        CommonOptions& options,
                        const std::string& log_flag = "--log");

// --json
void add_json_option(cli::Command command, CommonOptions& options);

// Which process: the positional PID, or -p/--pid (py-spy's).
struct TargetOption {
  std::string positional;
  std::string flag;
};
void add_pid_option(cli::Command command, TargetOption& option);

// Where in it.
struct PlaceOptions {
  std::string thread;  // a tid, a name, "main", or empty for the default
  FrameSelector frame;
};
void add_place_options(cli::Command command, PlaceOptions& options);

// Error: Usage.
Result<int> parse_pid(std::string_view word);

}  // namespace hangdbg
