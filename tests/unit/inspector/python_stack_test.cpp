// Python stacks read out of process, compared with the interpreter's own view:
// functions, files and lines of many shapes of code.
#include "inspector/cpython/stacks/python_stack.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "base/text.h"
#include "inspector/cpython/layout/line_table.h"
#include "inspector/cpython/stacks/thread_sample.h"
#include "tests/unit/support/interpreters.h"
#include "tests/unit/support/processes.h"

namespace hangdbg {
namespace {

class PythonStackLive : public OnEachPython {};

// A thread for each shape, all asleep in the lock. Then the interpreter prints
// its view: threads by \x1d, frames by \x1e, their fields by \x1f.
constexpr const char* kShapes = R"py(
import functools, time
gate = threading.Lock()
gate.acquire()
parked = []
def park(*ignored):
    parked.append(0); gate.acquire()

def deep(n):
    if n:
        return deep(
            n - 1
        )
    park()

class Shapes:
    def recursion(self):
        deep(300)
    def generators(self):
        def inner():
            yield 1
            yield park()
        def outer():
            yield from inner()
        return [
            x
            for x in outer()
            if x
        ]
    def multi_line_call(self):
        functools.reduce(

            lambda a, b: (
                a,
                park(
                    a
                ),
            ),

            [1,
             2],
        )
    def back_into_python(self):
        key = lambda x: park()
        return sorted(
            [3],
            key=key)
    def c_callback(self):
        callback = ctypes.CFUNCTYPE(None)(park)
        try:
            pass
        finally:
            callback()
    def class_body(self):
        class Inner:
            a = 1
            b = list(map(park, [a]))
    def coroutine(self):
        async def called():
            park()
        async def calling():
            async def between():
                return await called()
            await between()
        calling().send(None)
    def unwinding(self):
        class Context:
            def __enter__(self): return self
            def __exit__(self, *what):
                park()
        try:
            with Context() as c, \
                 Context() as d:
                1 / 0
        except ZeroDivisionError:
            raise
        finally:
            pass
    def dying(self):
        class Mortal:
            def __del__(self):
                park()
        it = Mortal()
        it = None
        it = 1
    def looping(self):
        for i in range(3):
            if i == 1:
                break
            i += 1
            continue
        else:
            pass
        while True:
            park()

def in_file(name, source):
    exec(compile(source, name, "exec"), {"park": park})

def long_function():
    lines = ["def long():", " x = 0"]
    for i in range(400):
        lines += [" x += 1"] + [""] * (i % 5 * 70)
    lines += [" big = [" + "0," * 300, " park(", "", "", "  x", " )]"]
    in_file("long.py", "\n".join(lines + ["long()"]))
Shapes.long_function = staticmethod(long_function)
Shapes.wide_name = staticmethod(lambda: in_file(
    "/tmp/имя 😀.py", "\n" * 1000 + "def wait():\n  park()\nwait()"))

work = [getattr(Shapes(), name) for name in dir(Shapes) if name[0] != "_"]
for each in work:
    threading.Thread(target=each, daemon=True).start()
while len(parked) < len(work):
    time.sleep(0.001)

def report():
    threads = []
    for ident, frame in sys._current_frames().items():
        if ident == threading.get_ident():
            frame = frame.f_back
        said = [str(ident)]
        while frame:
            code = frame.f_code
            said.append("\x1f".join([
                code.co_name, getattr(code, "co_qualname", code.co_name),
                code.co_filename, str(frame.f_lineno),
                str(code.co_firstlineno)]))
            frame = frame.f_back
        threads.append("\x1e".join(said))
    return "\x1d".join(threads)
say(report()), gate.acquire()
)py";

std::string said_by(const PythonFrame& frame) {
  return fmt::format("{}\x1f{}\x1f{}\x1f{}\x1f{}", frame.function,
                     frame.qualname, frame.file, frame.line, frame.first_line);
}

// As soon as the thread sleeps; it may be on its way there.
Result<PythonStack> exact_stack(int pid,
                                const Look& look,
                                const PythonRuntime& python,
                                PythonStackReader& reader,
                                const PythonThread& thread) {
  const auto deadline = patience();
  for (;;) {
    auto seen = sample_thread(pid, look.memory, python, reader, thread,
                              {.may_stop = false});
    if ((seen && seen->stack.exact) || deadline.expired()) {
      return std::move(TRY(seen).stack);
    }
    ::usleep(1000);
  }
}

TEST_P(PythonStackLive, IsWhatTheInterpreterSays) {
  const PythonChild target(path_, kShapes);
  const Look look(target.pid());
  const auto python = find_python(look.memory, look.modules);
  ASSERT_TRUE(python) << python.error().text();
  const auto threads = python_threads(look.memory, *python, look.tasks);
  ASSERT_TRUE(threads) << threads.error().text();
  PythonStackReader reader(look.memory, *python);
  std::size_t compared = 0;
  for (const std::string_view said : split(target.said(), '\x1d')) {
    const auto expected = split(said, '\x1e');
    const auto ident = parse_number<std::uint64_t>(expected[0]);
    ASSERT_TRUE(ident) << said;
    const auto thread =
        std::ranges::find(*threads, *ident, &PythonThread::ident);
    ASSERT_NE(thread, threads->end()) << *ident;
    ASSERT_TRUE(thread->tid);
    ASSERT_TRUE(sleeps_in(target.pid(), *thread->tid, "futex"));
    const auto stack =
        exact_stack(target.pid(), look, *python, reader, *thread);
    ASSERT_TRUE(stack) << stack.error().text();
    EXPECT_TRUE(stack->exact);
    EXPECT_TRUE(stack->complete);
    ASSERT_EQ(stack->frames.size() + 1, expected.size()) << said;
    for (std::size_t i = 0; i < stack->frames.size(); ++i) {
      EXPECT_EQ(said_by(stack->frames[i]), expected[i + 1]) << "frame " << i;
      ++compared;
    }
    const auto top = reader.read(thread->state, 2);
    ASSERT_TRUE(top) << top.error().text();
    EXPECT_FALSE(top->exact);
    EXPECT_EQ(top->complete, stack->frames.size() <= 2);
    EXPECT_EQ(said_by(top->frames[0]), expected[1]);
  }
  EXPECT_GT(compared, 350);
}

// Each code object of some modules, and of a source that jumps about: its first
// line, its table, and the ranges of instructions with their lines.
constexpr const char* kTables = R"py(
import argparse, dis, inspect, random, time, types
def codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)
def ranges(code):
    if sys.version_info >= (3, 10):
        return [(end, line or 0) for start, end, line in code.co_lines()]
    starts = list(dis.findlinestarts(code))
    ends = [start for start, line in starts[1:]] + [len(code.co_code)]
    return [(end, line) for end, (start, line) in zip(ends, starts)]
def positions(code):
    if sys.version_info < (3, 11):
        return ""
    known = lambda value, none: none if value is None else value
    return ",".join(
        "%d:%d:%d" % (known(end_line, 0), known(column, -1), known(end_column, -1))
        if line else "0:-1:-1"  # what has no line is nowhere
        for line, end_line, column, end_column in code.co_positions())
jumps = random.Random(1)
def gap():
    return "\n" * jumps.choice([0, 1, 3, 127, 128, 129, 255, 300])
source = "".join(
    "def f%d(*a):%s x =(%s a,%s f%d(%s a,%s 1),%s)\n for i in a:%s\n  try:\n   x()%s\n"
    "  finally:\n   x\n %s\n return x\n" % (i, "\n", gap(), gap(), i, gap(), gap(),
                                           gap(), gap(), gap(), gap())
    for i in range(100))
everything = list(codes(compile(source, "jumps", "exec")))
for module in (argparse, inspect):
    everything += codes(compile(open(module.__file__).read(), "-", "exec"))
def said(code):
    table = code.co_linetable if sys.version_info >= (3, 10) else code.co_lnotab
    return "%d|%s|%s|%s" % (code.co_firstlineno, table.hex(), ",".join(
        "%d:%d" % each for each in ranges(code)), positions(code))
say(";".join(map(said, everything))), time.sleep(1000)
)py";

std::vector<std::byte> bytes_of(std::string_view hex) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(
        parse_number<std::uint8_t>(hex.substr(i, 2), 16).value()));
  }
  return bytes;
}

TEST_P(PythonStackLive, HasTheLineOfEachInstruction) {
  const PythonChild target(path_, kTables);
  const Look look(target.pid());
  const auto python = find_python(look.memory, look.modules);
  ASSERT_TRUE(python) << python.error().text();
  const int minor = python->version.minor;
  std::size_t compared = 0;
  std::size_t columns = 0;
  for (const std::string_view code : split(target.said(), ';')) {
    const auto fields = split(code, '|');
    ASSERT_EQ(fields.size(), 4) << code;
    const int first_line = parse_number<int>(fields[0]).value();
    const auto table = bytes_of(fields[1]);
    EXPECT_EQ(line_at(table, minor, first_line, -2), first_line);
    std::int64_t at = 0;
    for (const std::string_view range : split(fields[2], ',')) {
      const auto colon = range.find(':');
      const auto end = parse_number<std::int64_t>(range.substr(0, colon));
      const auto line = parse_number<int>(range.substr(colon + 1));
      ASSERT_TRUE(end && line) << range;
      for (; at < *end; at += 2, ++compared) {
        ASSERT_EQ(line_at(table, minor, first_line, at), *line)
            << "at " << at << " of " << code;
      }
    }
    at = 0;
    for (const std::string_view said : split(fields[3], ',')) {
      if (said.empty()) {
        continue;
      }
      const SourceSpan span = span_at(table, minor, first_line, at);
      ASSERT_EQ(
          fmt::format("{}:{}:{}", span.end_line, span.column, span.end_column),
          said)
          << "at " << at << " of " << code;
      at += 2;
      ++columns;
    }
  }
  EXPECT_GT(compared, 10'000);
  EXPECT_EQ(columns, minor >= 11 ? compared : 0);
}

TEST_P(PythonStackLive, OfARecursionThatIsDeep) {
  const PythonChild target(path_, R"(
sys.setrecursionlimit(1000000)
threading.stack_size(1 << 30)
lock = threading.Lock()
lock.acquire()
def deep(n):
    if n:
        return deep(n - 1)
    say(tid()), lock.acquire()
threading.Thread(target=deep, args=(20000,), daemon=True).start()
lock.acquire()
)");
  const int tid = target.said_number();
  ASSERT_TRUE(sleeps_in(target.pid(), tid, "futex"));
  const Look look(target.pid());
  const auto python = find_python(look.memory, look.modules);
  ASSERT_TRUE(python) << python.error().text();
  const auto threads = python_threads(look.memory, *python, look.tasks);
  ASSERT_TRUE(threads) << threads.error().text();
  const auto deep =
      std::ranges::find(*threads, std::optional(tid), &PythonThread::tid);
  ASSERT_NE(deep, threads->end());
  PythonStackReader reader(look.memory, *python);
  const auto start = std::chrono::steady_clock::now();
  const auto stack = reader.read(deep->state);
  ASSERT_TRUE(stack) << stack.error().text();
  fmt::print("python {}: {} frames in {}\n", python->version.text(),
             stack->frames.size(),
             human_duration(std::chrono::steady_clock::now() - start));
  EXPECT_TRUE(stack->complete);
  EXPECT_GT(stack->frames.size(), 20'000);
  EXPECT_EQ(stack->frames[20'000].function, "deep");
}

// The target's memory with a few bytes of each long read changed, and one of
// some short ones.
class Garbled final : public MemoryReader {
 public:
  Garbled(const MemoryReader& under, std::size_t seed)
      : under_(under), random_(seed) {}
  Status read(Address from, std::span<std::byte> out) const override {
    TRY(under_.read(from, out));
    if (out.empty()) {
      return {};
    }
    const std::size_t some = random_() % 8 == 0 ? 1 : 0;
    for (std::size_t i = 0; i < some + out.size() / 1024; ++i) {
      out[random_() % out.size()] = static_cast<std::byte>(random_());
    }
    return {};
  }

 private:
  const MemoryReader& under_;
  mutable std::minstd_rand random_;
};

TEST_P(PythonStackLive, SurvivesGarbage) {
  const PythonChild target(path_, kShapes);
  const Look look(target.pid());
  const auto python = find_python(look.memory, look.modules);
  ASSERT_TRUE(python) << python.error().text();
  const auto threads = python_threads(look.memory, *python, look.tasks);
  ASSERT_TRUE(threads) << threads.error().text();
  std::size_t failed = 0;
  std::size_t read = 0;
  for (std::size_t seed = 0; seed < 100; ++seed) {
    const Garbled memory(look.memory, seed);
    PythonStackReader reader(memory, *python);
    for (const PythonThread& thread : *threads) {
      const auto stack = reader.read(thread.state);
      ++(stack ? read : failed);
      ASSERT_TRUE(stack || stack.error().id == ErrorId::Unreadable);
      ASSERT_TRUE(!stack ||
                  stack->frames.size() <= PythonStackReader::kMostFrames);
    }
  }
  EXPECT_GT(failed, 0);
  EXPECT_GT(read, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Pythons,
    PythonStackLive,
    testing::ValuesIn([] {
      auto names = kSupported;
      names.insert(names.end(), {"3.13t", "3.14t", "3.15t"});
      return names;
    }()),
    python_name);

}  // namespace
}  // namespace hangdbg
