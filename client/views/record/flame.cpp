#include "client/views/record/flame.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>

#include "client/views/dump/picture_text.h"
#include "client/views/record/formats.h"

namespace hangdbg {
namespace {

constexpr double kLeastShare = 0.0002;  // of the width: less is not drawn
constexpr std::size_t kMostDepth = 1000;
constexpr int kRowPixels = 19;
constexpr std::size_t kLongestLabel = 300;

constexpr const char* kFlameStyle = R"(
:root { color-scheme: light dark; --light: 78%; --paper: #fff; --ink: #1b1f24; --mark: #c2185b }
@media (prefers-color-scheme: dark) { :root { --light: 30%; --paper: #0d1117; --ink: #e6edf3; --mark: #ff6fa5 } }
body { font: 14px system-ui, sans-serif; margin: 1.2em; background: var(--paper); color: var(--ink) }
h1 { font-size: 1.2em; overflow-wrap: anywhere }
#flame { position: relative; font: 12px ui-monospace, Menlo, Consolas, monospace; overflow: hidden }
#flame div { position: absolute; height: 18px; line-height: 18px; overflow: hidden; white-space: nowrap;
  box-sizing: border-box; padding: 0 3px; border-radius: 2px; border-right: 1px solid var(--paper);
  background: hsl(var(--h) var(--s, 55%) var(--light)); cursor: pointer }
#flame div:hover, #flame div:focus { outline: 1px solid var(--ink); z-index: 1 }
#flame .found { background: var(--mark); color: var(--paper) }
#flame .above { opacity: .5 }
table { border-collapse: collapse; margin-top: 1.5em; font-size: 13px }
td, th { padding: .15em .8em .15em 0; text-align: right; font-variant-numeric: tabular-nums }
td:last-child, th:last-child { text-align: left; font-family: ui-monospace, Menlo, Consolas, monospace;
  overflow-wrap: anywhere }
.needs-script { display: none }
)";

constexpr const char* kFlameScript = R"(
const flame = document.getElementById('flame'), all = [...flame.children];
for (const one of document.querySelectorAll('.needs-script')) one.style.display = 'block';
for (const one of all) {
  one.at = parseFloat(one.style.left); one.size = parseFloat(one.style.width);
  one.row = parseFloat(one.style.top); one.tabIndex = 0;
}
function zoom(to) {
  const end = to.at + to.size, close = 1e-6;
  for (const one of all) {
    const above = one.row < to.row && one.at <= to.at + close && one.at + one.size >= end - close;
    const inside = one.row >= to.row && one.at >= to.at - close && one.at + one.size <= end + close;
    one.style.display = above || inside ? '' : 'none';
    one.classList.toggle('above', above);
    one.style.left = (above ? 0 : (one.at - to.at) / to.size * 100) + '%';
    one.style.width = (above ? 100 : one.size / to.size * 100) + '%';
  }
}
flame.addEventListener('click', event => { if (event.target !== flame) zoom(event.target); });
flame.addEventListener('keydown', event => { if (event.key === 'Enter') zoom(event.target); });
document.addEventListener('keydown', event => { if (event.key === 'Escape') zoom(all[0]); });
const search = document.getElementById('search'), found = document.getElementById('found');
search.addEventListener('input', () => {
  const word = search.value.toLowerCase();
  let sum = 0, end = 0;
  const hits = all.filter(one => {
    const hit = word !== '' && one.title.split('\n')[0].toLowerCase().includes(word);
    one.classList.toggle('found', hit);
    return hit;
  });
  for (const one of hits.sort((a, b) => a.at - b.at || b.size - a.size))
    if (one.at + one.size > end + 1e-6) { sum += one.size; end = one.at + one.size; }
  found.textContent = word === '' ? '' : sum.toFixed(1) + ' %';
});
)";

class Flame {
 public:
  Flame(const Profile& profile,
        const std::function<FlameLook(std::uint32_t)>& look)
      : profile_(profile),
        look_(look),
        totals_(profile.totals()),
        children_(profile.children()) {}

  std::string draw() {
    box(Profile::kRoot, 0, 0);
    return fmt::format("<div id=\"flame\" style=\"height:{}px\">\n{}</div>\n",
                       rows_ * kRowPixels, out_) +
           (omitted_ == 0
                ? ""
                : fmt::format(
                      "<p>Not drawn, too narrow: {} of {} samples.</p>\n",
                      omitted_, profile_.weight()));
  }

 private:
  double share(std::uint64_t weight) const {
    return profile_.weight() == 0 ? 0
                                  : static_cast<double>(weight) /
                                        static_cast<double>(profile_.weight());
  }
  void box(std::uint32_t node, double at, std::size_t depth);

  const Profile& profile_;
  const std::function<FlameLook(std::uint32_t)>& look_;
  std::vector<std::uint64_t> totals_;
  std::vector<std::vector<std::uint32_t>> children_;
  std::string out_;
  std::size_t rows_ = 1;
  std::uint64_t omitted_ = 0;
};

void Flame::box(std::uint32_t node, double at, std::size_t depth) {
  const ProfilePlace& place = profile_.places()[profile_.nodes()[node].place];
  const FlameLook look = look_(node);
  const std::string label =
      (node == Profile::kRoot
           ? std::string("all")
           : xml_text(cut(frame_label(place), kLongestLabel))) +
      look.mark;
  rows_ = std::max(rows_, depth + 1);
  out_ += fmt::format(
      R"(<div style="left:{:.4f}%;width:{:.4f}%;top:{}px;{}" title="{}&#10;{}">{}</div>)"
      "\n",
      at * 100, share(totals_[node]) * 100, depth * kRowPixels, look.style,
      label, look.note, label);
  std::ranges::sort(children_[node], {}, [&](std::uint32_t child) {
    return frame_label(profile_.places()[profile_.nodes()[child].place]);
  });
  for (const std::uint32_t child : children_[node]) {
    if (totals_[child] == 0) {
      continue;
    }
    if (share(totals_[child]) < kLeastShare || depth >= kMostDepth) {
      omitted_ += totals_[child];
    } else {
      box(child, at, depth + 1);
    }
    at += share(totals_[child]);
  }
}

}  // namespace

std::string draw_flame(const Profile& profile,
                       const std::function<FlameLook(std::uint32_t)>& look) {
  return Flame(profile, look).draw();
}

std::string flame_page(const std::string& title,
                       const std::string& line,
                       const std::string& drawn,
                       const std::string& tables) {
  return html_page(title, kFlameStyle,
                   fmt::format(
                       R"(<p>{}</p>
<p class="needs-script"><input id="search" type="search" placeholder="Search"/> <span id="found"></span>
Click a function to zoom in; Escape zooms out.</p>
{}{}<script>{}</script>
)",
                       line, drawn, tables, kFlameScript));
}

}  // namespace hangdbg
