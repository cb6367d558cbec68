#include "client/ranks/rank_prefix.h"

#include <fmt/core.h>

#include "base/host_name.h"
#include "base/text.h"

namespace hangdbg {

std::string rank_prefix(int rank, const Palette& palette) {
  return palette.bold(fmt::format("[{}:{}]", host_name(), rank));
}

void print_of_rank(std::FILE* stream,
                   int rank,
                   const Palette& palette,
                   std::string_view text) {
  if (text.empty()) {
    return;
  }
  if (text.ends_with('\n')) {
    text.remove_suffix(1);
  }
  const std::string prefix = rank_prefix(rank, palette);
  for (const std::string_view line : split(text, '\n')) {
    print_now(stream, fmt::format("{} {}\n", prefix, line));
  }
}

}  // namespace hangdbg
