// What precedes the lines of one rank among those of many.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "client/terminal/render.h"

namespace hangdbg {

// "[host:3]"
std::string rank_prefix(int rank, const Palette& palette);

// Each of its lines with that before it.
void print_of_rank(std::FILE* stream,
                   int rank,
                   const Palette& palette,
                   std::string_view text);

}  // namespace hangdbg
