#include "client/views/top/frame.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "client/views/dump/picture_text.h"

namespace hangdbg {
namespace {

// Title, what became of the samples, the views, the heading; the keys.
constexpr std::size_t kAbove = 4, kBelow = 1;
constexpr std::size_t kGap = 2;  // left of a text

constexpr std::array<std::string_view, 5> kViewNames = {
    "1 Functions", "2 Lines", "3 Threads", "4 Processes", "5 Tasks"};

constexpr std::array<std::string_view, 20> kHelp = {
    "1 2 3 4 5, Tab    functions, lines, threads, processes (ranks), tasks",
    "Up Down j k       choose a row; also Page Up, Page Down, Home, End",
    "Enter             open it: a process its threads, a thread or a task its",
    "                  stack and functions, a function its callers (<-), "
    "lines,",
    "                  and what it calls (->)",
    "Esc, Backspace    back",
    "s S               sort by the next or the previous column",
    "r                 reverse the order",
    "/                 search; Esc shows all again",
    "Space             pause the screen",
    "i                 count blocked threads, too",
    "g                 count only who holds the GIL",
    "t                 show asyncio's tasks in place of their loop",
    "c                 clear the counts",
    "d                 dump the stacks of the process",
    "a                 attach to the process; sampling ends until you are back",
    "q                 quit",
    "%: of the last 5 seconds; 100 is one thread all the time. s: seconds "
    "since",
    "the beginning. own: in the function itself; total: with what it calls.",
    "No code runs in the process; d stops threads as briefly as samples do."};

std::string padded(const std::string& text, std::size_t width) {
  const std::string fits = cut(text, width);
  const std::size_t wide = columns(fits);
  return fits + std::string(width > wide ? width - wide : 0, ' ');
}

// For the texts of a table, of what the numbers leave.
std::vector<std::size_t> text_widths(const TopTable& table, std::size_t wide) {
  std::size_t used = 0;
  int parts = 0;
  for (const TopColumn& column : table.columns) {
    used += column.width > 0 ? column.width + 1 : kGap;
    parts += column.width > 0 ? 0 : column.part;
  }
  std::size_t left = wide > used ? wide - used : 0;
  std::vector<std::size_t> widths;
  for (const TopColumn& column : table.columns) {
    if (column.width == 0) {
      const std::size_t width = left * static_cast<std::size_t>(column.part) /
                                static_cast<std::size_t>(parts);
      widths.push_back(width);
      left -= width;
      parts -= column.part;
    }
  }
  return widths;
}

std::string number_text(double number) {
  return number >= 100'000 ? fmt::format("{:.1e}", number)
                           : fmt::format("{:.1f}", number);
}

std::string samples_line(const TopData& data) {
  const SampleCounts& counts = data.state.counts;
  const double lasted =
      std::chrono::duration<double>(data.state.lasted).count();
  const auto percent = [&](std::chrono::nanoseconds part) {
    return lasted > 0
               ? std::chrono::duration<double>(part).count() / lasted * 100
               : 0;
  };
  return fmt::format(
      "{:.0f} s at {:g} Hz{}: {} samples, {} missed · hangdbg {:.1f} % CPU, "
      "stops {:.2f} %",
      lasted, data.rate,
      data.state.was_lowered
          ? fmt::format(" (down to {:.3g})", data.state.lowest_rate)
          : "",
      counts.kept, counts.missed, percent(data.state.used),
      percent(data.state.stopped));
}

TopLine views_line(const TopData& data, const TopState& state) {
  TopLine line;
  for (std::size_t i = 0; i < kViewNames.size() - (state.tasks ? 0U : 1U);
       ++i) {
    line.push_back({" " + std::string(kViewNames[i]) + " ",
                    static_cast<int>(state.choice.view) == static_cast<int>(i)
                        ? TopStyle::Chosen
                        : TopStyle::Plain});
  }
  if (state.paused) {
    line.push_back({" paused", TopStyle::Alarm});
  }
  if (state.idle) {
    line.push_back({" +blocked", TopStyle::Bold});
  }
  if (state.gil) {
    line.push_back({" GIL holder", TopStyle::Bold});
  }
  if (state.typing || !state.choice.search.empty()) {
    line.push_back({fmt::format("  /{}{}", printable(state.choice.search),
                                state.typing ? "_" : ""),
                    TopStyle::Bold});
  }
  const std::string scope = scope_text(data, state.choice.scope);
  if (!scope.empty()) {
    line.push_back({"  " + scope, TopStyle::Bold});
  }
  return line;
}

// No wider than the screen.
TopLine fitted(TopLine line, std::size_t wide) {
  for (TopSpan& span : line) {
    span.text = wide == 0 ? "" : cut(span.text, wide);
    wide -= std::min(wide, columns(span.text));
  }
  return line;
}

}  // namespace

std::size_t rows_on(const TopSize& size) {
  return size.lines > kAbove + kBelow ? size.lines - kAbove - kBelow : 1;
}

std::string heading(const TopTable& table,
                    std::size_t sort,
                    std::size_t columns) {
  const auto widths = text_widths(table, columns);
  std::string line;
  std::size_t text = 0;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const TopColumn& column = table.columns[i];
    const std::string title = (i == sort ? "*" : "") + column.title;
    line += column.width > 0
                ? fmt::format("{:>{}} ", title, column.width)
                : std::string(kGap, ' ') + padded(title, widths[text++]);
  }
  return line;
}

std::string row_text(const TopTable& table,
                     const TopRow& row,
                     std::size_t columns) {
  const auto widths = text_widths(table, columns);
  std::string line;
  for (std::size_t i = 0; i < row.numbers.size(); ++i) {
    line += fmt::format("{:>{}} ", number_text(row.numbers[i]),
                        table.columns[i].width);
  }
  for (std::size_t i = 0; i < row.texts.size() && i < widths.size(); ++i) {
    line += std::string(kGap, ' ') +
            padded((i == 0 ? row.mark : "") + row.texts[i], widths[i]);
  }
  return line;
}

std::vector<TopLine> top_frame(const TopData& data,
                               const TopTable& table,
                               const std::string& title,
                               TopState& state,
                               const TopSize& size) {
  const std::size_t page = rows_on(size);
  const std::size_t rows = table.rows.size();
  state.cursor = std::min(state.cursor, rows > 0 ? rows - 1 : 0);
  state.first = std::clamp(state.first,
                           state.cursor >= page ? state.cursor - page + 1 : 0,
                           state.cursor);
  std::vector<TopLine> lines;
  lines.push_back({{"hangdbg top · " + printable(title), TopStyle::Bold}});
  lines.push_back({{samples_line(data), TopStyle::Dim}});
  lines.push_back(views_line(data, state));
  if (state.help) {
    for (const std::string_view line : kHelp) {
      lines.push_back({{std::string(line)}});
    }
  } else {
    lines.push_back(
        {{heading(table, state.choice.sort, size.columns), TopStyle::Dim}});
    for (std::size_t i = state.first; i < std::min(rows, state.first + page);
         ++i) {
      lines.push_back({{row_text(table, table.rows[i], size.columns),
                        i == state.cursor      ? TopStyle::Chosen
                        : table.rows[i].bright ? TopStyle::Bright
                                               : TopStyle::Plain}});
    }
    if (rows == 0) {
      lines.push_back(
          {{!state.choice.search.empty() ? "  nothing with this in it"
                                         : "  no thread ran Python yet"}});
    }
  }
  lines.resize(size.lines - 1);
  lines.push_back(
      {{!state.note.empty() ? state.note
                            : "q quit  s sort  / search  Enter open  Space "
                              "pause  d dump  a attach  ? help",
        state.note.empty() ? TopStyle::Dim : TopStyle::Alarm}});
  for (TopLine& line : lines) {
    line = fitted(std::move(line), size.columns);
  }
  return lines;
}

}  // namespace hangdbg
