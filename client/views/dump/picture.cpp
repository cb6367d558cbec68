#include "client/views/dump/picture.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "client/views/dump/icicle.h"
#include "client/views/dump/picture_text.h"

namespace hangdbg {
namespace {

using Kind = IcicleBox::Kind;

constexpr double kMargin = 10, kRow = 20, kLine = 17;
constexpr double kCharacter = 7.3;  // of a monospaced font of 12 pixels
constexpr std::size_t kFewRangesInPicture = 4;
constexpr std::size_t kLongestTitle = 400;
constexpr std::size_t kMostFindings = 50;  // of each sort
constexpr std::size_t kLeastText = 3;      // of a name: less says nothing

// Without var(), which not all that shows SVG knows.
constexpr const char* kStyle = R"(
svg.hangdbg { font: 12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace }
.hangdbg .paper { fill: #ffffff }
.hangdbg text { fill: #1b1f24 }
.hangdbg .title { font-size: 15px; font-weight: bold }
.hangdbg .set { fill: #57606a }
.hangdbg .alarm { fill: #b3261e }
.hangdbg rect { fill: #d6e4f5 }
.hangdbg .odd rect { fill: #ffcf80 }
.hangdbg .stopped rect { fill: #f5aca6 }
.hangdbg .folded rect { fill: #e4e6e9 }
.hangdbg .box:hover rect { stroke: #1b1f24 }
@media (prefers-color-scheme: dark) {
.hangdbg .paper { fill: #0d1117 }
.hangdbg text { fill: #e6edf3 }
.hangdbg .set { fill: #aab4bf }
.hangdbg .alarm { fill: #ff9a91 }
.hangdbg rect { fill: #1f3b5c }
.hangdbg .odd rect { fill: #7a5200 }
.hangdbg .stopped rect { fill: #852b26 }
.hangdbg .folded rect { fill: #2b3138 }
.hangdbg .box:hover rect { stroke: #e6edf3 }
}
)";

constexpr const char* kPageStyle = R"(
:root { color-scheme: light dark }
body { font: 14px system-ui, sans-serif; margin: 1.5em; background: #ffffff; color: #1b1f24 }
h1 { font-size: 1.2em }
.tree { overflow-x: auto }
.tree svg { display: block }
li { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 13px; margin: .4em 0;
     overflow-wrap: anywhere }
.alarm { color: #b3261e }
@media (prefers-color-scheme: dark) {
body { background: #0d1117; color: #e6edf3 }
.alarm { color: #ff9a91 }
}
)";

struct Finding {
  std::string text;
  bool alarm = false;
};

struct KindOfBox {
  Kind kind;
  const char* name;  // of its class
  const char* legend;
};
constexpr std::array<KindOfBox, 4> kKinds = {{
    {Kind::Usual, "usual", "majority"},
    {Kind::Odd, "odd", "outlier"},
    {Kind::Stopped, "stopped", "stopped by a signal"},
    {Kind::Folded, "folded", "omitted"},
}};

// As many as a person reads.
template <class List>
void add_each(std::vector<Finding>& found,
              const List& list,
              bool alarm,
              const auto& text) {
  for (const auto& one : list | std::views::take(kMostFindings)) {
    found.push_back({text(one), alarm});
  }
  if (list.size() > kMostFindings) {
    found.push_back(
        {fmt::format("and {} more", list.size() - kMostFindings), alarm});
  }
}

std::vector<Finding> findings_of(const Picture& picture);
std::string set_text(const RankSet& members, const Picture& picture);
bool has(const IcicleBox& box, Kind kind);

class Drawing {
 public:
  Drawing(const Picture& picture, const Icicle& icicle)
      : picture_(picture), icicle_(icicle) {}

  std::string svg(bool with_words);

 private:
  void line(std::string_view text, const char* style);
  void legend();
  void box(const IcicleBox& box, double y);
  void label(const IcicleBox& box, double y);
  std::string name(const IcicleBox& box) const;
  std::string who(const IcicleBox& box) const;

  const Picture& picture_;
  const Icicle& icicle_;
  std::string out_;
  double y_ = kMargin;
};

}  // namespace

std::string picture_svg(const Picture& picture) {
  const Icicle icicle = lay_out(picture.tree);
  return Drawing(picture, icicle).svg(true) + "\n";
}

std::string picture_html(const Picture& picture) {
  const Icicle icicle = lay_out(picture.tree);
  std::string list;
  for (const Finding& finding : findings_of(picture)) {
    list +=
        fmt::format("<li{}>{}</li>\n", finding.alarm ? R"( class="alarm")" : "",
                    xml_text(finding.text));
  }
  return html_page(picture.title, kPageStyle,
                   fmt::format("<div class=\"tree\">{}</div>\n<ul>\n{}</ul>\n",
                               Drawing(picture, icicle).svg(false), list));
}

namespace {

// With its title and its findings, or without, as a page has them itself.
std::string Drawing::svg(bool with_words) {
  if (with_words) {
    line(picture_.title, "title");
    y_ += 4;
  }
  legend();
  box(icicle_.root, y_);
  y_ += icicle_.levels * kRow + kMargin;
  if (with_words) {
    const auto most = static_cast<std::size_t>(
        std::min(icicle_.root.width, 1600.0) / kCharacter);
    for (const Finding& finding : findings_of(picture_)) {
      for (const std::string& part : wrapped(finding.text, most)) {
        line(part, finding.alarm ? "alarm" : "finding");
      }
    }
  }
  const double width = icicle_.root.width + 2 * kMargin;
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" class="hangdbg" role="img" width="{0:.0f}" height="{1:.0f}" viewBox="0 0 {0:.0f} {1:.0f}">
<title>{2}</title>
<style>{3}</style>
<rect class="paper" width="{0:.0f}" height="{1:.0f}"/>
{4}</svg>)",
      width, y_ + kMargin, xml_text(picture_.title), kStyle, out_);
}

void Drawing::line(std::string_view text, const char* style) {
  y_ += kLine;
  out_ += fmt::format(R"(<text class="{}" x="{}" y="{:.0f}">{}</text>)"
                      "\n",
                      style, kMargin, y_ - 4, xml_text(text));
}

void Drawing::legend() {
  double x = kMargin;
  for (const auto& [kind, name, text] : kKinds) {
    if (has(icicle_.root, kind)) {
      out_ += fmt::format(
          R"(<g class="{}"><rect x="{:.0f}" y="{:.0f}" width="12" height="12"/><text x="{:.0f}" y="{:.0f}">{}</text></g>)"
          "\n",
          name, x, y_ + 2, x + 17, y_ + 12, text);
      x += 17 + kCharacter * static_cast<double>(columns(text)) + 24;
    }
  }
  out_ += fmt::format(
      R"(<text class="set" x="{:.0f}" y="{:.0f}">outermost call on top; as wide as there are threads in it</text>)"
      "\n",
      x, y_ + 12);
  y_ += kRow + 4;
}

void Drawing::box(const IcicleBox& box, double y) {
  const auto kind = std::ranges::find(kKinds, box.kind, &KindOfBox::kind);
  std::string place = name(box);
  if (box.node != nullptr && !box.node->place.function.empty()) {
    place = text_of(box.node->place, picture_.full_filenames);
  }
  out_ += fmt::format(
      R"(<g class="box {}"><title>{}&#10;{}</title><rect x="{:.1f}" y="{:.0f}" width="{:.1f}" height="{:.0f}"/>)",
      kind->name, xml_text(cut(place, kLongestTitle)),
      xml_text(cut(who(box), kLongestTitle)), box.x + kMargin, y,
      std::max(box.width - 1, 1.0), kRow - 1);
  label(box, y);
  out_ += "</g>\n";
  for (const IcicleBox& child : box.children) {
    this->box(child, y + kRow);
  }
}

// The function and the ranks in it, as much of that as there is room for.
void Drawing::label(const IcicleBox& box, double y) {
  const double room = (box.width - 7) / kCharacter;
  if (room < kLeastText) {
    return;
  }
  const auto most = static_cast<std::size_t>(room);
  std::string text = name(box);
  std::string set = set_text(box.members, picture_);
  if (columns(text) + 1 + columns(set) > most) {
    const bool names_nothing = columns(text) > most && most < 2 * kLeastText;
    (names_nothing && columns(set) <= most ? text : set).clear();
  }
  out_ += fmt::format(
      R"(<text x="{:.1f}" y="{:.0f}">{}{}</text>)", box.x + kMargin + 3, y + 14,
      xml_text(cut(text, most)),
      set.empty() ? ""
                  : fmt::format(R"({}<tspan class="set">{}</tspan>)",
                                text.empty() ? "" : " ", xml_text(set)));
}

// With its line, by which two calls of one function may part.
std::string Drawing::name(const IcicleBox& box) const {
  if (box.node == nullptr) {
    return box.note;
  }
  const auto& [function, file, line] = box.node->place;
  return function.empty()
             ? are_ranks(picture_.labels) ? "all ranks" : "all processes"
         : file.empty() ? function
                        : fmt::format("{}:{}", function, line);
}

std::string Drawing::who(const IcicleBox& box) const {
  return box.node == nullptr
             ? name_of(box.members, picture_.labels)
             : who_text(*box.node, picture_.tree, picture_.labels);
}

// ---- words

// What is wrong first, then where all are.
std::vector<Finding> findings_of(const Picture& picture) {
  const auto& [tree, labels, title, general, full] = picture;
  std::vector<Finding> found;
  add_each(found, general, true, [](const std::string& text) { return text; });
  add_each(found, tree.stopped, true, [&](const StoppedMember& one) {
    return name_of(set_of(one.member), labels) + ": " + why(one);
  });
  add_each(found, tree.odd, true, [&](const Outliers& odd) {
    return name_of(odd.here.members, labels) + ": " +
           why(tree, odd, labels, full, "; ");
  });
  add_each(found, tree.classes, false, [&](const StackClass& some) {
    return fmt::format(
        "{} in {}{}{}", name_of(some.members, labels),
        some.way.empty() ? "nothing" : text_of(some.way.back(), full),
        some.state.empty() ? "" : ", ", printable(some.state));
  });
  return found;
}

// "[0-6]"; of processes "101", "2 of 8".
std::string set_text(const RankSet& members, const Picture& picture) {
  const auto& labels = picture.labels;
  if (are_ranks(labels)) {
    return "[" + members.text(kFewRangesInPicture) + "]";
  }
  const std::size_t all = picture.tree.root.members.size();
  if (members.size() == 1 && all > 1) {
    const std::string name = name_of(members, labels);
    return "[" + name.substr(name.find(' ') + 1) + "]";
  }
  return fmt::format("[{} of {}]", members.size(), all);
}

bool has(const IcicleBox& box, Kind kind) {
  return box.kind == kind ||
         std::ranges::any_of(box.children, [kind](const IcicleBox& child) {
           return has(child, kind);
         });
}

}  // namespace
}  // namespace hangdbg
