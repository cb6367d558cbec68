// Any bytes either are a side of `hangdbg diff` or are refused; a side does not
// differ from itself.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "client/views/diff/comparison.h"
#include "client/views/diff/json.h"
#include "client/views/diff/text.h"

using namespace hangdbg;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto side = parse_side(bytes);
  if (!side) {
    return 0;
  }
  const Comparison found = compare(*side, *side);
  if (!found.equal()) {
    std::abort();
  }
  static const auto other =
      parse_side(R"({"processes":[{"pid":1,"host":"h","python":"3.9.1",
        "threads":[{"tid":1,"state":"","frames":[
          {"qualname":"f","file":"x.py","line":1}]}]}]})");
  const Comparison others = compare(*side, *other);
  (void)comparison_json(*side, *other, others);
  (void)comparison_text(*side, *other, others,
                        Palette(ColourChoice::Never, stdout));
  return 0;
}
