// Objects read out of process, compared with what the interpreter prints: its
// repr() where that runs no code of the program, else hangdbg's text.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "base/text.h"
#include "inspector/cpython/objects/dict.h"
#include "inspector/cpython/objects/object_reader.h"
#include "inspector/cpython/objects/repr.h"
#include "tests/unit/support/interpreters.h"

namespace hangdbg {
namespace {

class ObjectsLive : public OnEachPython {};

// Values by name; one that Python prints otherwise has its text beside it. Then
// the interpreter prints name, address and text of each.
constexpr const char* kZoo = R"py(
import collections, enum, functools, time, types, weakref
class Text(str): pass
class Number(int): pass
class Real(float): pass
class Row(list): pass
class Table(dict): pass
class Pair(tuple): pass
class Bag(set): pass
class Failure(ValueError): pass
class Empty: pass
class Slotted(object):
    __slots__ = ("left", "right", "unset")
class Both(Slotted):
    pass
class Color(enum.Enum):
    RED = 1
    GREEN = "g"
class Level(enum.IntEnum):
    LOW = 1
class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y
    def method(self): pass
class Grown(Point): pass
Named = collections.namedtuple("Named", "first second")
def function(a=1): pass
def outer():
    held = [1]
    def inner(): return held
    return inner
def produce():
    yield 1
    yield 2
def at(value): return " at 0x%x>" % id(value)

loop = [1]; loop.append(loop)
ring = {}; ring["self"] = ring
slotted = Slotted(); slotted.left = 1; slotted.right = "r"
both = Both(); both.left = 1; both.extra = 2
split = Point(1, "two")
grown = Grown(1, 2)
for i in range(40): setattr(grown, "a%d" % i, i)
reset = Point(1, 2); del reset.x; reset.x = 3
asked = Point(1, 2); asked.__dict__
emptied = {i: i for i in range(1000)}
for i in range(995): del emptied[i]
sparse = {i: i for i in range(10**5)}
for i in range(10**5 - 2): del sparse[i]
holed = {1, 2, 3, 500, 5000}; holed.discard(2)
ordered = collections.OrderedDict([(1, 2), (3, 4)]); ordered.move_to_end(1)
queue = collections.deque(range(200)); [queue.popleft() for i in range(190)]
started = produce(); next(started)
ended = produce(); list(ended)
fresh = produce()
alive = Empty()
locked = threading.Lock(); locked.acquire()
recursive = threading.RLock(); recursive.acquire(); recursive.acquire()
failure = None
try: 1 / 0
except ZeroDivisionError as error: failure = error
big = collections.OrderedDict.fromkeys(range(300))
method = split.method

zoo = {
    "none": None, "true": True, "false": False, "dots": ..., "not": NotImplemented,
    "zero": 0, "one": 1, "minus": -1, "ten18": 10**18, "min64": -2**63,
    "two64": 2**64, "big": 3**1000, "minus_big": -7**500, "long": 10**4299,
    "pi": 3.141592653589793, "third": 1/3, "e15": 1e15, "e16": 1e16, "e17": 123e17,
    "small": 0.0001, "tiny": 1e-5, "least": 5e-324, "most": 1.7976931348623157e308,
    "nan": float("nan"), "inf": float("inf"), "minus_inf": -float("inf"),
    "minus_zero": -0.0, "whole": 100.0, "frac": 123456.789,
    "complex": 1+2j, "imaginary": 2j, "negative": complex(-0.0, -1.5), "odd": complex(1e20, float("nan")),
    "str": "plain", "empty": "", "quote": "it's", "quotes": "\"it's\"", "escape": "\\ \n\t\r\x00\x7f\x1b",
    "latin": "h\xe9 \xa0\xad", "cyrillic": "\u0438\u043c\u044f \u2028", "emoji": "\U0001f600 \u200b",
    "surrogate": "\udc80a", "private": "\ue000\uffff",
    "bytes": b"a'\x00\xff\n", "bytes2": b"'\"", "bytearray": bytearray(b"xy"), "no_bytes": b"",
    "tuple": (1, "a"), "single": (1,), "no_tuple": (), "list": [1, [2, ()]], "no_list": [],
    "dict": {"a": 1, 2: [3], (1, 2): None}, "no_dict": {}, "str_keys": {"a": 1, "b": 2},
    "emptied": emptied, "sparse": sparse, "asked_dict": asked.__dict__,
    "wide": {"k%d" % i: i for i in range(300)}.keys() and {i: i for i in range(15)},
    "set": {1, 2, 3}, "no_set": set(), "frozen": frozenset([1]), "no_frozen": frozenset(), "holed": holed,
    "loop": loop, "ring": ring,
    "range": range(3), "range2": range(1, 10, 2), "slice": slice(1, None, "x"),
    "ordered": ordered, "no_ordered": collections.OrderedDict(),
    "default": collections.defaultdict(list, {1: [2]}), "counter": collections.Counter("abbccc"),
    "no_counter": collections.Counter(),
    "deque": queue, "deque3": collections.deque([1, 2, 3], 3), "no_deque": collections.deque(),
    "proxy": types.MappingProxyType({"a": 1}), "namespace": types.SimpleNamespace(a=1, b="c"),
    "text": Text("text"), "wide_text": Text("\u0438\u043c\u044f"), "number": Number(5), "real": Real(1.5),
    "row": Row([1, 2]), "table": Table(a=1), "pair": Pair((1, 2)), "bag": Bag([1]),
    "function": function, "lambda": (lambda: 0), "inner": outer(), "method": method and len,
    "builtin": len, "builtin_method": [].append, "type": int, "class": Point, "c_type": collections.deque,
    "enum_class": Color, "abc": collections.abc.Mapping if hasattr(collections, "abc") else None,
    "str_method": str.join, "slot_wrapper": object.__init__, "member": Slotted.left, "attribute": type.__name__ and types.FunctionType.__dict__["__code__"],
    "code": function.__code__, "cell": outer().__closure__[0], "module": os, "sys": sys if sys.version_info > (3, 9) else None, "plain_module": types.ModuleType("made"),
    "error": ValueError("bad", 1), "one_error": Failure("x"), "os_error": FileNotFoundError(2, "none"),
    "raised": failure, "key_error": KeyError("k"),
    "color": Color.RED, "green": Color.GREEN, "level": Level.LOW,
    "named": Named(1, "b"), "object": object(), "no_attributes": Empty(),
    "weak": weakref.ref(alive), "lock": locked, "free_lock": threading.Lock(),
    "rlock": recursive, "free_rlock": threading.RLock(), "memory": memoryview(b"x"),
    "partial_class": functools.partial, "c_instance": functools.lru_cache()(function),
}
said = {
    "slotted": (slotted, "<Slotted left=1, right='r'>"),
    "both": (both, "<Both left=1, extra=2>"),
    "split": (split, "<Point x=1, y='two'>"),
    "reset": (reset, "<Point y=2, x=3>"),
    "asked": (asked, "<Point x=1, y=2>"),
    "grown": (grown, "<Grown x=1, y=2, " + "".join("a%d=%d, " % (i, i) for i in range(18)) + "… 22 more>"),
    "bound": (method, "<bound method Point.method of <Point x=1, y='two'>>"),
    "created": (fresh, repr(fresh)[:-1] + ", created>"),
    "suspended": (started, repr(started)[:-1] + ", suspended>"),
    "closed": (ended, repr(ended)[:-1] + ", closed>"),
    "too_long": (10**5000, None),
    "long_str": ("a" * 1000, "'" + "a" * 200 + "' … 800 more"),
    "long_list": (list(range(100)), "[" + "".join("%d, " % i for i in range(20)) + "… 80 more]"),
    "long_ordered": (big, None),
    "deep": ([[[[1]]]], "[[[…]]]" if False else "[[[…]]]"),
    "deep_instance": ([[Point(1, 2)]], None),
}
if sys.version_info >= (3, 7): exec('''
import dataclasses
@dataclasses.dataclass
class Record:
    name: str
    hidden: int = dataclasses.field(default=0, repr=False)
    items: list = dataclasses.field(default_factory=list)
record = Record("a", 1, [2])
zoo["record"] = record
''')
if sys.version_info >= (3, 15): exec('''
class Fixed(frozendict): pass
MISSING = sentinel("MISSING")
zoo.update({"fixed": frozendict(a=1, b=[2]), "no_fixed": frozendict(), "own_fixed": Fixed(x=None),
            "sentinel": MISSING, "own_sentinel": sentinel("x", repr="<unset>")})
''')
# A global that is read so would be imported; as a local it is what it is.
def add_lazy():
    for name in ("wave", "late", "xml", "sax", "minidom", "header"):
        zoo["lazy " + name] = here[name]
here = {"__name__": "lazy"}
if sys.version_info >= (3, 15):
    exec('''
lazy import wave
lazy from colorsys import rgb_to_hsv as late
lazy import xml.dom
lazy import xml.sax as sax
lazy import xml.dom.minidom as minidom
lazy from email import header, errors
''', here)
    add_lazy()
def told(name, value): return "\x1f".join([name, str(id(value)), repr(value)])
lines = [told(*item) for item in zoo.items()]
for name, (value, text) in said.items():
    if text is not None:
        lines.append("\x1f".join([name, str(id(value)), text]))
said["deep_instance"][0]
os.write(1, "\x1e".join(lines).encode("utf-8", "surrogateescape") + b"\n")
time.sleep(1000)
)py";

TEST_P(ObjectsLive, ReadAsTheInterpreterPrintsThem) {
  const PythonChild target(path_, kZoo);
  const Look look(target.pid());
  const auto python = find_python(look.memory, look.modules);
  ASSERT_TRUE(python) << python.error().text();
  const auto objects = ObjectReader::open(look.memory, *python);
  ASSERT_TRUE(objects) << objects.error().text();
  ReprLimits limits;
  limits.characters = 10'000;
  std::size_t compared = 0;
  for (const std::string_view line : split(target.said(), '\x1e')) {
    const auto fields = split(line, '\x1f');
    ASSERT_EQ(fields.size(), 3) << target.said();
    const auto address = parse_number<std::uint64_t>(fields[1]);
    ASSERT_TRUE(address) << line;
    EXPECT_EQ(repr(*objects, Address{*address}, limits), fields[2])
        << fields[0];
    ++compared;
  }
  EXPECT_GT(compared, 100);
}

// With all kinds of keys, and one that cannot be read among them. Its lines:
// what is searched, and the address of its value or 0.
constexpr const char* kManyKeys = R"py(
class Text(str): pass
class Wild(object): __slots__ = ()
names = ["first", "k7", "k299", "k3000", "absent", "\u0438\u043c\u044f", "\u0438\u043c\u0438",
         "h\xe9", "sub", "x" * 99, "x" * 200, "", "last"]
wild = Wild()
many = {"first": object(), 7: object(), (1, 2): object(), None: object()}
many.update(("k%d" % i, object()) for i in range(300))
many.update((key, object()) for key in (
    "\u0438\u043c\u044f", "h\xe9", Text("sub"), "x" * 99, "x" * 200, "", wild, "last"))
few = {"first": object(), Text("sub"): object()}
lines = ["%d\x1f%s\x1f%d" % (id(keys), name, id(keys[name]) if name in keys else 0)
         for keys in (many, few, {}) for name in names]
ctypes.c_uint64.from_address(id(wild) + object.__basicsize__ - 8).value = 0x123456789abc
os.write(1, "\x1e".join(lines).encode() + b"\n")
gate = threading.Lock()
gate.acquire(), gate.acquire()
)py";

TEST_P(ObjectsLive, KeysAreFoundAmongMany) {
  const PythonChild target(path_, kManyKeys);
  const Look look(target.pid());
  const auto python = find_python(look.memory, look.modules);
  ASSERT_TRUE(python) << python.error().text();
  const auto objects = ObjectReader::open(look.memory, *python);
  ASSERT_TRUE(objects) << objects.error().text();
  objects->allow_reads();
  std::size_t sought = 0;
  for (const std::string_view line : split(target.said(), '\x1e')) {
    const auto fields = split(line, '\x1f');
    ASSERT_EQ(fields.size(), 3) << target.said();
    const Address dict{parse_number<std::uint64_t>(fields[0]).value()};
    const Address value{parse_number<std::uint64_t>(fields[2]).value()};
    const auto found = find_key(*objects, dict, fields[1]);
    ASSERT_TRUE(found) << line << found.error().text();
    EXPECT_EQ(found->value_or(Address{}).value, value.value) << line;
    ++sought;
  }
  EXPECT_EQ(sought, 39);
}

// Objects whose memory is overwritten: each ends, and reports its type as far
// as that can be read.
constexpr const char* kBroken = R"py(
import collections, gc
gc.disable()  # it would find them
head = object.__basicsize__
kept = []
def word(place):
    return ctypes.c_uint64.from_address(place)
def broken(value, *words):
    kept.append(value)
    for offset, content in words:
        word(id(value) + head + offset).value = content
    return str(id(value))
wild = 0x123456789abc
huge = 1 << 60
nested = leaf = []
for i in range(100000):
    leaf.append([]); leaf = leaf[0]
twins = []
for i in range(60):
    twins = [twins, twins]
many = [[[[[1] * 50] * 50] * 50] * 50] * 50
emptied = dict.fromkeys(range(10**6)); [emptied.pop(i) for i in range(10**6 - 1)]
lines = [
    ("huge list", broken([1, 2], (0, huge))),
    ("wild list", broken([1, 2], (8, wild))),
    ("negative list", broken([1, 2], (0, 2**64 - 1))),
    ("huge tuple", broken(tuple(range(5)), (0, huge))),
    ("long tuple", broken(tuple(range(5)), (0, 1 << 39))),
    ("wild dict", broken({1: 2}, (16, wild))),
    ("null dict", broken({1: 2}, (16, 0))),
    ("huge dict", broken({1: 2}, (0, huge))),
    ("long dict", broken({1: 2}, (0, 1 << 39))),
    ("wild values", broken({1: 2}, (24, wild))),
    ("huge int", broken(int("1" * 50), (0, huge))),
    ("long int", broken(int("1" * 50), (0, 1 << 39))),
    ("huge str", broken("".join(["a", "b"]), (0, huge))),
    ("huge bytes", broken(bytes([1, 2, 3]), (0, huge))),
    ("wild bytearray", broken(bytearray(b"abc"), (24, wild))),
    ("wild set", broken({1, 2}, (24, wild))),
    ("wide set", broken({1, 2}, (16, huge))),
    ("wild deque", broken(collections.deque([1]), (8, wild))),
    ("long deque", broken(collections.deque([1]), (0, 1 << 39))),
    ("wild ordered", broken(collections.OrderedDict(a=1), (32, wild))),
    ("wild range", broken(range(3), (0, wild))),
    ("wild type", broken(object(), (-8, wild))),
    ("deep list", str(id(nested))),
    ("twins", str(id(twins))),
    ("many", str(id(many))),
    ("emptied", str(id(emptied))),
]
os.write(1, "\x1e".join("\x1f".join(each) for each in lines).encode() + b"\n")
gate = threading.Lock()
gate.acquire(), gate.acquire()
)py";

TEST_P(ObjectsLive, ThatAreBrokenEnd) {
  const PythonChild target(path_, kBroken);
  const Look look(target.pid());
  const auto python = find_python(look.memory, look.modules);
  ASSERT_TRUE(python) << python.error().text();
  std::size_t read = 0;
  for (const std::string_view line : split(target.said(), '\x1e')) {
    const auto fields = split(line, '\x1f');
    ASSERT_EQ(fields.size(), 2) << line;
    const Address object{parse_number<std::uint64_t>(fields[1]).value()};
    const auto objects = ObjectReader::open(look.memory, *python);
    ASSERT_TRUE(objects);
    const auto started = std::chrono::steady_clock::now();
    const std::string text = repr(*objects, object, {.depth = 100});
    const auto took = std::chrono::steady_clock::now() - started;
    EXPECT_LT(took, std::chrono::seconds(2)) << fields[0];
    EXPECT_LT(text.size(), 3000) << fields[0];
    if (fields[0].find("wild") != fields[0].npos ||
        fields[0].find("huge") != fields[0].npos) {
      EXPECT_NE(text.find("unreadable"), text.npos) << fields[0] << ' ' << text;
    }
    ++read;
  }
  EXPECT_EQ(read, 26);
}

INSTANTIATE_TEST_SUITE_P(Pythons,
                         ObjectsLive,
                         testing::ValuesIn(kEveryBuild),
                         python_name);

}  // namespace
}  // namespace hangdbg
