#include "client/views/record/shown_comparison.h"

#include "base/text.h"
#include "client/terminal/render.h"
#include "client/terminal/whole_file.h"
#include "client/views/record/comparison.h"
#include "client/views/record/read_profile.h"
#include "protocol/json.h"

namespace hangdbg {

Status show_comparison(const std::string& before,
                       const std::string& after,
                       const std::string& page,
                       const CommonOptions& common) {
  const ReadProfile a = TRY(read_profile(before));
  const ReadProfile b = TRY(read_profile(after));
  if (!page.empty()) {
    TRY(write_whole_file(page, write_flame_comparison(a, b)));
    if (page != "-") {
      say(stderr, "wrote {}\n", printable(page));
    }
  }
  if (common.json) {
    print_json(encode(comparison_report(a, b)));
  } else if (page.empty()) {
    print_now(stdout, comparison_lines(a, b, Palette(common.colour, stdout)));
  }
  return {};
}

}  // namespace hangdbg
