// Locals read out of process, compared with the interpreter's own view.
#include "inspector/cpython/stacks/python_locals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/text.h"
#include "inspector/cpython/objects/repr.h"
#include "inspector/cpython/stacks/python_stack.h"
#include "tests/unit/support/interpreters.h"
#include "tests/unit/support/processes.h"

namespace hangdbg {
namespace {

class PythonLocalsLive : public OnEachPython {};

// A thread for each shape, asleep in the lock. Then the interpreter prints its
// view: threads by \x1c, frames by \x1d, variables by \x1e, fields by \x1f.
constexpr const char* kShapes = R"py(
import time
gate = threading.Lock()
gate.acquire()
parked = []
def park():
    parked.append(0); gate.acquire()

class Shapes:
    def arguments(self):
        def called(a, b=2, *rest, only, more="m", **others):
            later = a + b
            unset = 1
            del unset
            park()
            never = 1
        called(1, 3, 4, 5, only="o", extra=None)
    def cells(self):
        def called(argument, plain, *rest, only=7):
            local, later = "l", None
            def inner():
                nonlocal later
                mine = argument, local
                park()
                return later, unset, rest, only
            later = [1, 2]
            inner()
            unset = 1
        called("a", "p", 1)
    def generator(self):
        def produce(n):
            for i in range(n):
                got = yield i
                if i == 1:
                    park()
        list(produce(3))
    def coroutine(self):
        async def inner(x):
            y = x * 2
            park()
        async def outer():
            here = "outer"
            await inner(21)
        outer().send(None)
    def comprehension(self):
        held = 5
        return [park() for a, b in [(1, 2)] if held]
    def class_body(self):
        outside = "o"
        class Inner:
            a = 1
            b = [x for x in range(3)]
            c = outside
            park()
            d = 2
    def super_cell(self):
        class Base:
            def run(self):
                number = 1
                park()
        class Derived(Base):
            def run(self, flag=True):
                super().run()
        Derived().run()
    def module_level(self):
        exec("first = 1\nsecond = [first]\n[park() for each in second]", {"park": park})
    def own_names(self):
        exec("first = 1\ndef inner(x):\n  y = x\n  park()\ninner(first)", {"park": park}, {"given": 3})
    def recursion(self):
        def deep(n):
            below = str(n)
            deep(n - 1) if n else park()
        deep(5)
    def handler(self):
        try:
            1 / 0
        except ZeroDivisionError as error:
            park()
    def deleted_argument(self):
        def called(a, b):
            del a
            def inner(): return b
            b = "new"
            park()
        called(1, 2)
    def many(self):
        names = {}
        exec("def called(%s):\n  park()" % ", ".join("a%d=%d" % (i, i) for i in range(200)), {"park": park}, names)
        names["called"]()
    if sys.version_info >= (3, 8):
        def position_only(self):
            names = {}
            exec("def called(a, b, /, c):\n  if (d := a): park()", {"park": park}, names)
            names["called"](1, 2, c=3)

work = [getattr(Shapes(), name) for name in dir(Shapes) if name[0] != "_"]
for each in work:
    threading.Thread(target=each, daemon=True).start()
while len(parked) < len(work):
    time.sleep(0.001)

simple = (int, str, bool, type(None), list, tuple, float)
def told(value):
    return repr(value) if type(value) in simple else type(value).__name__
def report():
    threads = []
    for ident, frame in sys._current_frames().items():
        if ident == threading.get_ident():
            continue
        said = [str(ident)]
        while frame and frame.f_code.co_filename == "<string>":
            said.append("\x1e".join([frame.f_code.co_name] + [
                name + "\x1f" + told(value)
                for name, value in frame.f_locals.items()
                if name[:2] != "__"]))
            frame = frame.f_back
        threads.append("\x1d".join(said))
    return "\x1c".join(threads)
say(report()), gate.acquire()
)py";

bool is_simple(Kind kind) {
  return kind == Kind::Int || kind == Kind::Str || kind == Kind::Bool ||
         kind == Kind::None || kind == Kind::List || kind == Kind::Tuple ||
         kind == Kind::Float;
}

using Variables = std::map<std::string, std::string>;

// A module's functions are left out.
Variables expected_variables(std::string_view frame) {
  Variables variables;
  for (const std::string_view variable : split(frame, '\x1e')) {
    const auto fields = split(variable, '\x1f');
    if (fields.size() == 2 &&
        !(frame.starts_with("<module>") && fields[1] == "function")) {
      variables.emplace(fields[0], fields[1]);
    }
  }
  return variables;
}

Variables read_variables(const ObjectReader& objects,
                         const PythonFrame& frame) {
  Variables variables;
  const auto locals = read_locals(objects, frame.address, frame.code);
  EXPECT_TRUE(locals) << locals.error().text();
  for (const Variable& variable : *locals) {
    const auto type = objects.type_of(variable.object);
    EXPECT_TRUE(type) << variable.name;
    variables.emplace(variable.name, is_simple((*type)->kind)
                                         ? repr(objects, variable.object)
                                         : (*type)->name);
  }
  return variables;
}

TEST_P(PythonLocalsLive, AreWhatTheInterpreterSays) {
  const PythonChild target(path_, kShapes);
  const Look look(target.pid());
  const auto python = find_python(look.memory, look.modules);
  ASSERT_TRUE(python) << python.error().text();
  const auto threads = python_threads(look.memory, *python, look.tasks);
  ASSERT_TRUE(threads) << threads.error().text();
  PythonStackReader stacks(look.memory, *python);
  std::size_t compared = 0;
  for (const std::string_view said : split(target.said(), '\x1c')) {
    const auto frames = split(said, '\x1d');
    const auto ident = parse_number<std::uint64_t>(frames[0]);
    ASSERT_TRUE(ident) << said;
    const auto thread =
        std::ranges::find(*threads, *ident, &PythonThread::ident);
    ASSERT_NE(thread, threads->end()) << *ident;
    ASSERT_TRUE(sleeps_in(target.pid(), *thread->tid, "futex"));
    const auto stack = stacks.read(thread->state);
    ASSERT_TRUE(stack) << stack.error().text();
    const auto objects = ObjectReader::open(look.memory, *python);
    ASSERT_TRUE(objects);
    for (std::size_t i = 1; i < frames.size(); ++i) {
      const PythonFrame& frame = stack->frames.at(i - 1);
      Variables read = read_variables(*objects, frame);
      const Variables expected = expected_variables(frames[i]);
      if (frame.function == "Inner" || frame.function == "<module>") {
        // Shown besides: what a class body sees of the function around it, and
        // the module's names while a comprehension of it runs (3.13).
        std::erase_if(read, [&](const auto& variable) {
          return !expected.contains(variable.first);
        });
      }
      EXPECT_EQ(read, expected) << frame.qualname;
      ++compared;
    }
  }
  EXPECT_GT(compared, 40);
}

// Arguments first and in their order, then the other locals.
TEST_P(PythonLocalsLive, AreInOrder) {
  const PythonChild target(path_, R"(
lock = threading.Lock()
lock.acquire()
def called(a, b, *rest, only, **others):
    def inner(): return b, only
    z = 1
    y = 2
    say("ready"), lock.acquire()
called(1, 2, 3, only=4, other=5)
)");
  const Look look(target.pid());
  const auto python = find_python(look.memory, look.modules);
  ASSERT_TRUE(python);
  ASSERT_TRUE(sleeps_in(target.pid(), target.pid(), "futex"));
  const auto threads = python_threads(look.memory, *python, look.tasks);
  ASSERT_TRUE(threads);
  PythonStackReader stacks(look.memory, *python);
  const auto stack = stacks.read(threads->front().state);
  ASSERT_TRUE(stack);
  const PythonFrame& frame = stack->frames.front();
  ASSERT_EQ(frame.function, "called");
  const auto objects = ObjectReader::open(look.memory, *python);
  const auto locals = read_locals(*objects, frame.address, frame.code);
  ASSERT_TRUE(locals) << locals.error().text();
  std::string names;
  for (const Variable& variable : *locals) {
    names += variable.name + " ";
  }
  EXPECT_EQ(names, "a b only rest others inner z y ");

  objects->allow_reads();
  const auto name = [&](const char* of) {
    const auto found = find_name(*objects, frame.address, frame.code, of);
    return found ? repr(*objects, *found) : found.error().text();
  };
  EXPECT_EQ(name("rest"), "(3,)");
  EXPECT_EQ(name("__name__"), "'__main__'");
  EXPECT_EQ(name("len"), "<built-in function len>");
  EXPECT_EQ(name("nothing"), "NameError: name 'nothing' is not defined");
}

INSTANTIATE_TEST_SUITE_P(Pythons,
                         PythonLocalsLive,
                         testing::ValuesIn(kEveryBuild),
                         python_name);

}  // namespace
}  // namespace hangdbg
