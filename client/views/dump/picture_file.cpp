#include "client/views/dump/picture_file.h"

#include "client/terminal/typed.h"
#include "client/terminal/whole_file.h"

namespace hangdbg {

void add_picture_options(cli::Command command, PictureOptions& options) {
  command
      .add_option("--svg", options.svg,
                  "Draw the merged tree as SVG; -: standard output")
      .type_name("FILE");
  command
      .add_option("--html", options.html,
                  "Draw the merged tree as an HTML page; -: standard output")
      .type_name("FILE");
}

Status PictureOptions::check(bool json) const {
  if (to_stdout() && (json || svg == html)) {
    return fail(ErrorId::Usage,
                "--svg, --html and --json cannot share standard output",
                typed_with(svg == "-" ? "--svg" : "--html",
                           svg == "-" ? "hang.svg" : "hang.html"));
  }
  return {};
}

Status draw(const PictureOptions& options, const Picture& picture) {
  if (!options.svg.empty()) {
    TRY(write_whole_file(options.svg, picture_svg(picture)));
  }
  if (!options.html.empty()) {
    TRY(write_whole_file(options.html, picture_html(picture)));
  }
  return {};
}

}  // namespace hangdbg
