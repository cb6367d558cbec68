#include "protocol/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hangdbg {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

struct Point {
  int x = 0;
  std::optional<double> y;

  template <class V>
  void fields(V& v) {
    v("x", x);
    v("y", y);
  }
};

struct Empty {
  std::optional<int> a;

  template <class V>
  void fields(V& v) {
    v("a", a);
  }
};

struct Sample {
  std::string name;
  bool flag = false;
  std::uint8_t small = 0;
  std::vector<Point> points;
  std::map<std::string, Point> named;
  std::optional<std::string> note;
  std::optional<Point> nothing;
  Json any;

  template <class V>
  void fields(V& v) {
    v("name", name);
    v("flag", flag);
    v("small", small);
    v("points", points);
    v("named", named);
    v("note", note);
    v.nullable("nothing", nothing);
    v("any", any);
  }
};

Json parsed(std::string_view text) {
  return Json::parse(text).value();
}

template <class T>
std::string problem(std::string_view text) {
  const Result<T> value = decode<T>(parsed(text));
  return value ? "none" : value.error().message;
}

constexpr std::string_view kSample =
    R"({"name":"n","flag":true,"small":255,)"
    R"("points":[{"x":-1},{"x":2,"y":0.5}],"named":{"a":{"x":3}},)"
    R"("nothing":null,"any":{"z":[1,"2",null],"a":{}}})";

TEST(Json, StructsGoBothWaysInTheirOwnOrder) {
  const Sample sample = decode<Sample>(parsed(kSample)).value();
  EXPECT_EQ(sample.name, "n");
  EXPECT_EQ(sample.small, 255);
  EXPECT_EQ(sample.points.at(1).y, 0.5);
  EXPECT_EQ(sample.named.at("a").x, 3);
  EXPECT_EQ(sample.note, std::nullopt);
  EXPECT_EQ(encode(sample).dump(), kSample);
}

TEST(Json, WholeNumbersKeepTheirSign) {
  EXPECT_EQ(encode(std::vector<int>{-1}).dump(), "[-1]");
  EXPECT_EQ(encode(~std::uint64_t{0}).dump(), "18446744073709551615");
}

TEST(Json, NullIsAnEmptyOptionalAndUnknownMembersAreSkipped) {
  const auto point = decode<Point>(parsed(R"({"new":[],"y":null,"x":1})"));
  ASSERT_TRUE(point);
  EXPECT_EQ(point->y, std::nullopt);
}

TEST(Json, NullDecodesAsAStructWithoutMembers) {
  EXPECT_TRUE(decode<Empty>(Json()));
  EXPECT_EQ(encode(Empty()).dump(), "{}");
  EXPECT_EQ(decode<Point>(Json(), "(root).arguments").error().message,
            "missing value at (root).arguments.x");
}

TEST(Json, ProblemsAreNamedByTheirPath) {
  EXPECT_EQ(problem<Point>("{}"), "missing value at (root).x");
  EXPECT_EQ(problem<Point>("[]"), "expected an object at (root)");
  EXPECT_EQ(problem<Point>(R"({"x":"1"})"), "expected a number at (root).x");
  EXPECT_EQ(problem<Point>(R"({"x":null})"), "expected a number at (root).x");
  EXPECT_EQ(problem<Point>(R"({"x":1.5})"),
            "expected a whole number at (root).x");
  EXPECT_EQ(problem<Point>(R"({"x":1,"y":"2"})"),
            "expected a number at (root).y");
  EXPECT_EQ(problem<Point>(R"({"x":2147483648})"),
            "number out of range at (root).x");
  EXPECT_EQ(problem<Point>(R"({"x":18446744073709551615})"),
            "number out of range at (root).x");
  EXPECT_EQ(problem<std::vector<Point>>(R"([{"x":1},{"x":true}])"),
            "expected a number at (root)[1].x");
  EXPECT_EQ(problem<Sample>(R"({"name":"","flag":1})"),
            "expected true or false at (root).flag");
  EXPECT_EQ(problem<Sample>(R"({"name":"","flag":true,"small":256})"),
            "number out of range at (root).small");
  EXPECT_EQ(problem<Sample>(R"({"name":"","flag":true,"small":1,"points":{}})"),
            "expected an array at (root).points");
  EXPECT_EQ(problem<Sample>(R"({"name":"","flag":true,"small":1,"points":[],)"
                            R"("named":{"a b":{}}})"),
            "missing value at (root).named.a b.x");
}

TEST(Json, TextThatIsNotJsonSaysWhere) {
  const auto json = Json::parse(R"({"a":1,})");
  ASSERT_FALSE(json);
  EXPECT_EQ(json.error().id, ErrorId::BadMessage);
  EXPECT_EQ(json.error().message, "not JSON at byte 8");
  EXPECT_FALSE(Json::parse(""));
  EXPECT_FALSE(Json::parse("{} {}"));
  EXPECT_FALSE(Json::parse("[1e999]"));
}

TEST(Json, BadTextIsReplacedNotRefused) {
  const auto text = [](std::string_view json) {
    return decode<std::string>(parsed(json)).value();
  };
  EXPECT_EQ(text("\"a\xff\""), "a\uFFFD");
  EXPECT_EQ(text(R"("a\ud800b")"), "a\uFFFDb");
  EXPECT_EQ(text(R"("\udc00\ud83d\ude00")"), "\uFFFD\U0001F600");
  EXPECT_EQ(text(R"("\ud800 \\ud800")"), "\uFFFD \\ud800");
  EXPECT_EQ(encode(std::string("a\xff\xed\xa0\x80")).dump(),
            "\"a\uFFFD\uFFFD\uFFFD\uFFFD\"");
  EXPECT_EQ(encode(std::string("\x1b\0", 2)).dump(), R"("\u001b\u0000")");
}

TEST(Json, NoControlCharacterComesOutAsItIs) {
  const std::string text = "\x1b[\x7f \u009b \u0080\u00a0 \u00e9\u0085";
  const std::string json = encode(text).dump();
  EXPECT_EQ(json, "\"\\u001b[\\u007f \\u009b \\u0080\u00a0 \u00e9\\u0085\"");
  EXPECT_EQ(decode<std::string>(parsed(json)).value(), text);
}

TEST(Json, HostileShapesAreRefused) {
  const auto deep = Json::parse(std::string(1'000'000, '['));
  ASSERT_FALSE(deep);
  EXPECT_THAT(deep.error().message, StartsWith("JSON is nested deeper"));

  std::string crowded = "{";
  for (int i = 0; i < 5000; ++i) {
    crowded += "\"" + std::to_string(i) + "\":0,";
  }
  const auto object = Json::parse(crowded + "\"last\":0}");
  ASSERT_FALSE(object);
  EXPECT_THAT(object.error().message, HasSubstr("more than 4096 members"));

  EXPECT_TRUE(Json::parse("\"" + std::string(1000, '[') + "\\\"[:\""));
}

TEST(Json, CopiesShareAndIndentedDumpIsForPeople) {
  const Json json = parsed(R"({"a":[1]})");
  const Json copy = json;
  EXPECT_EQ(&copy.value(), &json.value());
  EXPECT_EQ(copy.dump(2), "{\n  \"a\": [\n    1\n  ]\n}");
  EXPECT_TRUE(Json().is_null());
}

}  // namespace
}  // namespace hangdbg
