// What peek understands, and its answers, compared with Python's.
#include "inspector/cpython/expressions/peek.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/text.h"
#include "inspector/cpython/runtime/gil.h"
#include "tests/unit/support/interpreters.h"
#include "tests/unit/support/processes.h"

namespace hangdbg {
namespace {

TEST(PeekExpression, IsUnderstood) {
  for (const char* text : {"a",
                           " a . b [ 1 ] ",
                           "a[-1][\"x\"]['y']",
                           "len(a.b) == 3",
                           "a is None",
                           "a is not None",
                           "'x' in a",
                           "1 not in a",
                           "a[1:2]",
                           "a[:]",
                           "a[::-1]",
                           "a[1.5]",
                           "a[b'x']",
                           "a[b.c]",
                           "(a)",
                           "((a.b))[0]",
                           "имя.поле",
                           "-1",
                           "1e5",
                           ".5",
                           "r'\\d'",
                           "a[len(b)]",
                           "True",
                           "a != -2.5",
                           "isx",
                           "notx",
                           "a.is_alive",
                           "'\\x41\\u0416\\U0001f600\\n'",
                           "a[(1)]"}) {
    const auto parsed = parse_expression(text);
    EXPECT_TRUE(parsed) << text << ": " << parsed.error().text();
  }
}

TEST(PeekExpression, IsNotUnderstood) {
  for (const char* text : {"",
                           "a b",
                           "f()",
                           "a.f(1)",
                           "a +b",
                           "a[",
                           "a[1",
                           "a]",
                           "a.",
                           "[1]",
                           "{}",
                           "lambda: 0",
                           "not a",
                           "a and b",
                           "a if b else c",
                           "a == b == c",
                           "(a",
                           "len(a",
                           "'x",
                           "'\\",
                           "'\\q'",
                           "'\\x4'",
                           "a[1:b]",
                           "a[::0]",
                           "=",
                           "a = 1",
                           "a := 1",
                           "007",
                           "0x10",
                           "1_000",
                           "1j",
                           "b'я'",
                           "f'x'",
                           "'''x'''",
                           "await a",
                           "a.1",
                           "1.2.3",
                           "*a",
                           "a[1:2:3:4]",
                           "-a",
                           "--1",
                           "a[99999999999999999999:]"}) {
    const auto parsed = parse_expression(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().id, ErrorId::Usage) << text;
    EXPECT_EQ(parsed.error().hint, kEvalHint) << text;
  }
  EXPECT_FALSE(parse_expression(std::string(5000, '(')));
  EXPECT_FALSE(parse_expression("a" + std::string(100'000, '.')));
  EXPECT_FALSE(
      parse_expression(std::string(1000, '(') + "a" + std::string(1000, ')')));
}

class PeekLive : public OnEachPython {};

// The frame prints the value of each expression there, or the exception's name,
// or "code" where peek would have to run some.
constexpr const char* kFrame = R"py(
import collections
class Base:
    shared = [1, 2]
    __slots__ = ("slot", "unset", "__dict__")
class Thing(Base):
    kind = "thing"
    def __init__(self):
        self.slot = "s"
        self.number, self.text = 12, "h\xe9llo"
        self.items = list(range(50))
        self.deque = collections.deque(range(300))
        self.table = {"k": 1, 7: "seven", None: "none", 1.5: 2, b"b": 4,
                      "\u043a\u043b\u044e\u0447": 5, True: "true"}
        self.error = OSError(2, "none")
        self.nothing = None
        self.kind = "mine"
        self.nan = float("nan")
    @property
    def computed(self): return 1
    @staticmethod
    def static(): pass
    @classmethod
    def of_class(cls): pass
class Hooked:
    def __getattr__(self, name): return 1
    def __getitem__(self, key): return 1
    def __len__(self): return 1
    def __eq__(self, other): return True
    def __contains__(self, other): return True
class Sized(list):
    def __len__(self): return 1
class Descriptor:
    def __get__(self, *of): return 1
class Described:
    it = Descriptor()
class Missing(dict):
    def __missing__(self, key): return 1

def frame(thing, hooked=Hooked(), *rest, **named):
    big, data, raw = 2**100, b"ab\xff", bytearray(b"xyz")
    pair, ranged, numbers = ("a", ("b", "c")), range(3, 9, 2), {1, 2, 3}
    sized, described = Sized([1]), Described()
    ordered = collections.OrderedDict([("a", 1)])
    default = collections.defaultdict(list, {"a": [1]})
    def inner(): return big
    exact = '''thing.number thing.slot thing.shared thing.kind thing.items[-1]
        thing.items[3:6] thing.items[::-20] thing.items[-3:] thing.items[60:]
        thing.items[5:1:-2] thing.table["k"] thing.table[7] thing.table[None]
        thing.table[1.5] thing.table[b"b"] thing.table[1] thing.text[1]
        thing.text[1:3] thing.text[::-1] thing.error.errno thing.error.args
        thing.error.filename thing.deque[0] thing.deque[-1] thing.deque[150]
        thing.nothing pair[1][0] pair[1:] pair[:1] data[2] data[1:] raw[0]
        len(thing.items) len(thing.text) len(data) len(raw) len(pair) len(ranged)
        len(numbers) len(thing.table) len(thing.deque) len(thing.items[2:4])
        len(ordered) ordered["a"] default["a"] big rest named thing.__class__
        thing.__class__.__name__ Thing.kind Thing.shared Base.slot len print
        collections.deque thing.static os.sep sys.maxsize
        True 'x' -1 1.5 None thing.items[thing.items[2]] __name__
        sys.version_info[0] inner.__qualname__'''.split() + [
        "thing.number == 12", "thing.number != 12", "thing.number < 13",
        "thing.number >= 12.5", "big > 5", "big == %d" % 2**100, "big < -1",
        "thing.nothing is None", "thing.nothing is not None", "thing.text == 'h\\xe9llo'",
        "thing.text < 'i'", "'ell' in thing.text", "'\\xe9l' in thing.text", "7 in thing.items",
        "70 not in thing.items", "'k' in thing.table", "1.0 in numbers", "5 in numbers",
        "thing.number == 'x'", "thing.nothing == 0", "data == b'ab\\xff'", "raw == b'xyz'",
        "thing is thing", "thing.items is pair", "True == 1", "thing.number == 12.0",
        "thing.nan == thing.nan", "thing.nan < 1", "pair == 1", "len(thing.items) == 50",
        "thing.table['\u043a\u043b\u044e\u0447']", "2 in thing.deque", "thing.items[-2:] != 1"]
    raises = '''nothing thing.absent thing.table["absent"] thing.items[50]
        thing.items[-51] pair[2] thing.text[9] thing.items["a"] thing.unset
        thing.number[0] len(thing.number) thing.number.absent default["b"]'''.split() + [
        "thing.number < 'x'", "thing.nothing < 1"]
    code = '''thing.computed hooked.absent hooked[0] len(hooked) len(sized)
        described.it'''.split() + ["hooked == 1", "1 in hooked"]
    names = dict(globals(), **locals())
    lines = [e + "\x1f" + repr(eval(e, names)) for e in exact]
    for e in raises:
        try:
            eval(e, names)
            lines.append(e + "\x1fKeyError")  # where a default would be made
        except Exception as error:
            lines.append(e + "\x1f" + type(error).__name__)
    lines += [e + "\x1fcode" for e in code]
    default.pop("b", None)
    os.write(1, "\x1e".join(lines).encode() + b"\n")
    gate.acquire()
gate = threading.Lock()
gate.acquire()
frame(Thing(), Hooked(), 1, 2, three=3)
)py";

TEST_P(PeekLive, AnswersAsPython) {
  const PythonChild target(path_, kFrame);
  const Look look(target.pid());
  const auto python = find_python(look.memory, look.modules);
  ASSERT_TRUE(python) << python.error().text();
  ASSERT_TRUE(sleeps_in(target.pid(), target.pid(), "futex"));
  const auto threads = python_threads(look.memory, *python, look.tasks);
  ASSERT_TRUE(threads);
  PythonStackReader stacks(look.memory, *python);
  const auto stack = stacks.read(threads->front().state);
  ASSERT_TRUE(stack);
  const auto objects = ObjectReader::open(look.memory, *python);
  ASSERT_TRUE(objects);
  std::size_t compared = 0;
  for (const std::string_view line : split(target.said(), '\x1e')) {
    const auto fields = split(line, '\x1f');
    ASSERT_EQ(fields.size(), 2) << line;
    const auto expression = parse_expression(fields[0]);
    ASSERT_TRUE(expression) << fields[0];
    objects->allow_reads();
    const auto peeked = peek(*objects, stack->frames.front(), *expression,
                             {.depth = 5, .items = 100, .text = 1000});
    if (peeked) {
      EXPECT_EQ(peeked->text, fields[1]) << fields[0];
    } else if (fields[1] == "code") {
      EXPECT_EQ(peeked.error().hint, kEvalHint) << fields[0];
    } else {
      EXPECT_EQ(peeked.error().id, ErrorId::ExpressionFailed) << fields[0];
      EXPECT_TRUE(peeked.error().message.starts_with(fields[1]))
          << fields[0] << ": " << peeked.error().message;
    }
    ++compared;
  }
  EXPECT_GT(compared, 100);
}

INSTANTIATE_TEST_SUITE_P(Pythons,
                         PeekLive,
                         testing::ValuesIn(kEveryBuild),
                         python_name);

}  // namespace
}  // namespace hangdbg
