// --svg FILE and --html FILE.
#pragma once

#include <string>

#include "base/result.h"
#include "client/options/cli.h"
#include "client/views/dump/picture.h"

namespace hangdbg {

struct PictureOptions {
  std::string svg, html;  // where to; "-" is standard output

  bool given() const { return !svg.empty() || !html.empty(); }
  // Then nothing else may go there.
  bool to_stdout() const { return svg == "-" || html == "-"; }
  // `json`: that goes there. Errors: Usage.
  Status check(bool json) const;
};

void add_picture_options(cli::Command command, PictureOptions& options);

// A file is there as a whole, or as it was before. Errors: Usage, where it
// cannot be written.
Status draw(const PictureOptions& options, const Picture& picture);

}  // namespace hangdbg
