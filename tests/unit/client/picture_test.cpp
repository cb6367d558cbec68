// The merged tree as a picture: widths, what is folded, and untrusted text.
// (tests/integration/look/test_picture.py checks that it is XML.)
#include "client/views/dump/picture.h"

#include <gtest/gtest.h>

#include <random>

#include "base/text.h"
#include "client/views/dump/icicle.h"

namespace hangdbg {
namespace {

using Kind = IcicleBox::Kind;
using Way = std::vector<StackMerger::Place>;

struct Merging {
  StackMerger merger;

  void add(int member,
           const std::vector<std::string>& functions,
           std::string_view state = "asleep") {
    Way way;
    for (const std::string& function : functions) {
      way.push_back(merger.place({function, "a.py", 1}));
    }
    merger.add_thread({.member = member,
                       .pid = member,
                       .main = true,
                       .state = state,
                       .waiting_s = 60},
                      way);
  }
  std::string svg() {
    const StackTree tree = merger.finish();
    const TreeLabels labels{TreeLabels::Members::Ranks};
    return picture_svg({tree, labels, "some ranks", {"rank 9 is missing"}});
  }
};

void check(const IcicleBox& box, std::size_t& boxes) {
  ++boxes;
  double x = box.x;
  for (const IcicleBox& child : box.children) {
    EXPECT_GE(child.width, 3);
    EXPECT_GE(child.x, x - 1e-6);
    x = child.x + child.width;
    check(child, boxes);
  }
  EXPECT_LE(x, box.x + box.width + 1e-6);
}

TEST(IcicleTest, AsWideAsThereAreRanks) {
  Merging all;
  for (int rank = 0; rank < 8; ++rank) {
    all.add(rank, {"main", rank == 5 ? "load" : "train"});
  }
  const StackTree tree = all.merger.finish();
  const Icicle icicle = lay_out(tree);
  EXPECT_EQ(icicle.levels, 3);
  const IcicleBox& main = icicle.root.children[0];
  ASSERT_EQ(main.children.size(), 2);
  EXPECT_GT(main.children[0].width, main.children[1].width * 5);
  EXPECT_EQ(main.children[0].kind, Kind::Usual);
  EXPECT_EQ(main.children[1].kind, Kind::Odd);
  std::size_t boxes = 0;
  check(icicle.root, boxes);
}

TEST(IcicleTest, StoppedAndOddAtTheEndOfAWay) {
  Merging all;
  for (int rank = 0; rank < 4; ++rank) {
    all.add(rank, {"main", "train"}, rank == 2 ? "stopped by us" : "asleep");
  }
  all.add(4, {"main"});
  const StackTree tree = all.merger.finish();
  const Icicle icicle = lay_out(tree);
  const IcicleBox& main = icicle.root.children[0];
  ASSERT_EQ(main.children.size(), 2);
  EXPECT_EQ(main.children[0].kind, Kind::Odd);
  EXPECT_EQ(main.children[0].members.text(), "4");
  const IcicleBox& train = main.children[1];
  EXPECT_EQ(train.kind, Kind::Usual);
  ASSERT_EQ(train.children.size(), 1);
  EXPECT_EQ(train.children[0].kind, Kind::Stopped);
  EXPECT_EQ(train.children[0].members.text(), "2");
}

// The outlier is drawn, whatever is left out.
TEST(IcicleTest, TooManyToDraw) {
  Merging all;
  for (int rank = 0; rank < 20; ++rank) {
    all.add(rank, {"main", rank == 0 ? "odd" : "train"});
  }
  for (int number = 0; number < 20000; ++number) {
    const Way way = {
        all.merger.place({"worker", "a.py", 1}),
        all.merger.place({"f" + std::to_string(number), "a.py", 1})};
    all.merger.add_thread({.member = 7, .pid = 7}, way);
  }
  const StackTree tree = all.merger.finish();
  const Icicle icicle = lay_out(tree);
  std::size_t boxes = 0;
  check(icicle.root, boxes);
  EXPECT_LT(boxes, 5100);
  EXPECT_LT(icicle.root.width, 20'000);
  const auto& main = icicle.root.children[0];
  EXPECT_EQ(main.children.back().node->place.function, "odd");
  const IcicleBox& folded = icicle.root.children[1].children.back();
  EXPECT_EQ(folded.kind, Kind::Folded);
  EXPECT_TRUE(folded.note.ends_with(" more")) << folded.note;
}

TEST(PictureTest, OfNothing) {
  Merging none;
  EXPECT_NE(none.svg().find("</svg>"), std::string::npos);
}

// All text from outside is escaped, in UTF-8, of characters that XML has.
void expect_text(const std::string& svg) {
  EXPECT_EQ(to_utf8(svg), svg);
  for (const char32_t character : to_utf32(svg)) {
    ASSERT_TRUE(character >= 0x20 || character == '\n');
    ASSERT_TRUE(character != 0xfffe && character != 0xffff);
  }
  for (std::size_t at = 0; (at = svg.find('&', at)) != svg.npos; ++at) {
    const std::string rest = svg.substr(at + 1, 5);
    ASSERT_TRUE(rest.starts_with("amp;") || rest.starts_with("lt;") ||
                rest.starts_with("gt;") || rest.starts_with("quot;") ||
                rest.starts_with("#10;"))
        << rest;
  }
  for (std::size_t at = 0; (at = svg.find('<', at)) != svg.npos; ++at) {
    const std::string rest = svg.substr(at + 1, 6);
    const auto name = rest.substr(rest.starts_with('/') ? 1 : 0);
    ASSERT_TRUE(name.starts_with("svg") || name.starts_with("g") ||
                name.starts_with("titl") || name.starts_with("rect") ||
                name.starts_with("text") || name.starts_with("tspa") ||
                name.starts_with("styl"))
        << rest;
  }
}

TEST(PictureTest, HostileNames) {
  for (const std::string name :
       {"<lambda>", "]]>", "--><script>alert(1)</script>", "\" onload=\"x",
        "&amp;", "a\nb\x1b[31m", "\xed\xa0\x80", "\xff\xfe",
        "\xef\xbf\xbf\xef\xbf\xbe", "\xe2\x80\xae evil"}) {
    Merging all;
    all.add(0, {"main", name});
    all.add(1, {"main", name}, "stopped " + name);
    all.add(2, {"main", "other", name + name}, name);
    const std::string svg = all.svg();
    EXPECT_EQ(svg.find("<script"), std::string::npos);
    expect_text(svg);
  }
}

TEST(PictureTest, RandomBytes) {
  std::mt19937 random(7);
  const auto bytes = [&random](std::size_t most) {
    std::string text(1 + random() % most, ' ');
    for (char& byte : text) {
      byte = static_cast<char>(
          random() % 3 == 0 ? random() % 256 : "<>&\"']\xef\xbf"[random() % 8]);
    }
    return text;
  };
  for (int round = 0; round < 300; ++round) {
    Merging all;
    for (int rank = 0; rank < 5; ++rank) {
      all.add(rank, {bytes(9), bytes(90)}, bytes(20));
    }
    expect_text(all.svg());
  }
}

}  // namespace
}  // namespace hangdbg
