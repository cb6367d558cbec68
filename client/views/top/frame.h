// One frame of `top`: each line of the screen, as text with its looks.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "client/views/top/state.h"

namespace hangdbg {

enum class TopStyle { Plain, Bold, Dim, Bright, Alarm, Chosen };

struct TopSpan {
  std::string text;
  TopStyle style = TopStyle::Plain;
};
using TopLine = std::vector<TopSpan>;

struct TopSize {
  std::size_t lines = 24, columns = 80;

  bool operator==(const TopSize&) const = default;
};

// How many rows of the table there are on a screen.
std::size_t rows_on(const TopSize& size);

// Exactly `size.lines` lines, none wider than the screen. Moves the cursor and
// the first row into the table.
std::vector<TopLine> top_frame(const TopData& data,
                               const TopTable& table,
                               const std::string& title,
                               TopState& state,
                               const TopSize& size);

// The heading of a table and one row, in so many columns.
std::string heading(const TopTable& table,
                    std::size_t sort,
                    std::size_t columns);
std::string row_text(const TopTable& table,
                     const TopRow& row,
                     std::size_t columns);

}  // namespace hangdbg
