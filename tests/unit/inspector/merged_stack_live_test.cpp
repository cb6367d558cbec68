// C and Python frames of one stack on real interpreters: the Python frames must
// be those that the interpreter reports, and between them the C functions that
// the script has called.
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "inspector/cpython/stacks/thread_sample.h"
#include "inspector/native/stack_copy.h"
#include "inspector/snapshot/merged_stack.h"
#include "tests/unit/support/interpreters.h"
#include "tests/unit/support/processes.h"
#include "tracee/ptrace/traced_thread.h"

namespace hangdbg {
namespace {

class MergedStackLive : public OnEachPython {};

// A thread for each way from Python to C and back. Then the interpreter prints
// its own view: threads by \x1d, fields by \x1e: number, name, frames.
constexpr const char* kShapes = R"py(
import functools, time
gate = threading.Lock()
gate.acquire()
def park(*ignored):
    gate.acquire()
class Parks:
    def __del__(self):
        park()
    def __lt__(self, other):
        park()
    def __init__(self, *arguments):
        arguments and park()
    def __getattr__(self, name):
        park()
    @property
    def is_parked(self):
        park()
class Shapes:
    def sort_key(self):
        sorted([1, 2], key=lambda each: park())
    def compare(self):
        [Parks(), Parks()].sort()
    def mapped(self):
        list(map(park, [1]))
    def reduced(self):
        functools.reduce(lambda a, b: park(), [1, 2, 3])
    def partial(self):
        functools.partial(park, 1)()
    def generator(self):
        def items():
            yield park()
        next(items())
    def expression(self):
        return [x for x in (park() for _ in range(2))]
    def delegated(self):
        def inner():
            yield park()
        def outer():
            yield from inner()
        list(outer())
    def deleted_local(self):
        def keeps():
            local = Parks()
            return 1
        keeps()
    def deleted_local_of_entry(self):
        def keeps(ignored):
            local = Parks()
            return 1
        list(map(keeps, [1]))
    def attribute(self):
        Parks().missing
    def property(self):
        Parks().is_parked
    def constructor(self):
        Parks(1)
    def code(self):
        exec("park()", globals())
    def callback(self):
        if ctypes:
            function = ctypes.CFUNCTYPE(
                ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
            numbers = (ctypes.c_int * 3)(3, 2, 1)
            ctypes.CDLL(None).qsort(
                numbers, 3, 4, function(lambda a, b: park() or 0))
    def deep(self):
        def down(n):
            return max([n], key=lambda each: down(n - 1) if n else park())
        down(40)
    def plain(self):
        park()
    def sleeps(self):
        time.sleep(1000)
shapes = Shapes()
threads = []
for name in sorted(dir(Shapes)):
    if not name.startswith("_"):
        thread = threading.Thread(target=getattr(shapes, name), name=name)
        thread.daemon = True
        thread.start()
        threads.append(thread)
def is_asleep(thread):
    frame = sys._current_frames()[thread.ident]
    return frame.f_code.co_name in ("park", "sleeps")
while not all(map(is_asleep, threads)):
    time.sleep(0.01)
def said(thread):
    frame = sys._current_frames()[thread.ident]
    fields = [str(thread.ident), thread.name]
    while frame:
        fields.append(frame.f_code.co_name)
        frame = frame.f_back
    return "\x1e".join(fields)
say("\x1d".join(map(said, threads)))
gate.acquire()
)py";

// What must be between two Python functions, if the C function has a name in
// all builds; "|" for others that some versions have instead.
struct Between {
  std::string inner;
  std::string c;
  std::string outer;
};
const std::map<std::string, Between> kExported = {
    {"callback", {"<lambda>", "qsort|qsort_r", "callback"}},
};
const std::map<std::string, Between> kKnown = {
    {"sort_key", {"<lambda>", "list_sort|list_sort_impl|listsort", "sort_key"}},
    {"compare", {"__lt__", "list_sort|list_sort_impl|listsort", "compare"}},
    {"mapped", {"park", "map_next", "mapped"}},
    {"reduced", {"<lambda>", "functools_reduce|_functools_reduce", "reduced"}},
    {"partial", {"park", "partial_call|partial_vectorcall", "partial"}},
    {"generator", {"items", "builtin_next", "generator"}},
    {"deleted_local_of_entry",
     {"__del__", "map_next", "deleted_local_of_entry"}},
    {"code", {"<module>", "builtin_exec", "code"}},
};

struct AttachTarget {
  explicit AttachTarget(const std::string& python)
      : child(python, kShapes), look(child.pid()) {
    maps = read_maps(child.pid()).value();
    runtime = *find_python(look.memory, look.modules);
    threads = *python_threads(look.memory, runtime, look.tasks);
  }

  // Lines, "C:f" for C functions, and the stack that has them.
  std::pair<std::vector<std::string>, MergedStack> merged(
      const PythonThread& thread,
      bool stop) {
    PythonStackReader reader(look.memory, runtime);
    StackCopy copy;
    SampleOptions options;
    options.copy = [&](const Registers& registers) -> Status {
      copy = TRY(copy_stack(look.memory, maps, registers));
      return {};
    };
    const auto seen = sample_thread(child.pid(), look.memory, runtime, reader,
                                    thread, options);
    EXPECT_TRUE(seen && seen->stack.exact);
    if (stop) {
      auto traced_thread = TracedThread::seize(*thread.tid).value();
      EXPECT_TRUE(traced_thread.interrupt(patience()));
      copy = copy_stack(look.memory, maps, traced_thread.registers().value())
                 .value();
    }
    CopyUnwinder unwinder(look.memory, look.modules);
    const auto native = unwinder.unwind(copy, patience()).value();
    names.learn({&native, 1});
    auto stack = merge_stacks(named(native, names, runtime.module),
                              native.complete, seen->stack);
    std::vector<std::string> lines;
    for (const StackEntry& entry : stack.entries) {
      lines.push_back(entry.kind == StackEntry::Kind::Python
                          ? seen->stack.frames[entry.frame].function
                          : "C:" + entry.native.function);
    }
    return {lines, stack};
  }

  PythonChild child;
  Look look;
  std::vector<Mapping> maps;
  PythonRuntime runtime;
  std::vector<PythonThread> threads;
  NativeNames names{child.pid(), look.memory, look.modules};
};

bool has(const std::vector<std::string>& lines, const Between& wanted) {
  const auto inner = std::ranges::find(lines, wanted.inner);
  const auto outer = std::find(inner, lines.end(), wanted.outer);
  for (const std::string_view function : split(wanted.c, '|')) {
    if (std::find(inner, outer, fmt::format("C:{}", function)) != outer) {
      return outer != lines.end();
    }
  }
  return false;
}

// pyenv's builds are not stripped.
bool has_names(const std::string& python) {
  return python.find(".pyenv") != python.npos;
}

TEST_P(MergedStackLive, IsWhatTheScriptCalled) {
  AttachTarget target(path_);
  int compared = 0;
  for (const std::string_view said : split(target.child.said(), '\x1d')) {
    const auto fields = split(said, '\x1e');
    const std::string name(fields[1]);
    const auto ident = parse_number<std::uint64_t>(fields[0]);
    const auto thread = std::ranges::find(
        target.threads, ident,
        [](const PythonThread& one) { return std::optional(one.ident); });
    ASSERT_NE(thread, target.threads.end()) << name;
    for (const bool stop : {false, true}) {
      const auto [lines, stack] = target.merged(*thread, stop);
      const std::string shown =
          fmt::format("{}: {} {}", name, fmt::join(lines, " "), stack.reason);
      EXPECT_TRUE(stack.merged) << shown;
      EXPECT_EQ(stack.reason, "") << shown;
      EXPECT_TRUE(lines.front().starts_with("C:")) << shown;
      EXPECT_FALSE(lines.back().starts_with("C:")) << shown;
      std::vector<std::string_view> python;
      std::ranges::copy_if(
          lines, std::back_inserter(python),
          [](const std::string& line) { return !line.starts_with("C:"); });
      EXPECT_TRUE(std::ranges::equal(python, std::span(fields).subspan(2)))
          << shown;
      for (const auto* table : {&kExported, &kKnown}) {
        const auto wanted = table->find(name);
        if (wanted != table->end() &&
            (table == &kExported || has_names(path_))) {
          EXPECT_TRUE(has(lines, wanted->second)) << shown;
          ++compared;
        }
      }
    }
  }
  EXPECT_EQ(compared, has_names(path_) ? 18 : 2);
}

INSTANTIATE_TEST_SUITE_P(
    Pythons,
    MergedStackLive,
    testing::ValuesIn([] {
      auto names = kSupported;
      names.insert(names.end(), {"3.13t", "3.14t", "3.15t"});
      return names;
    }()),
    python_name);

}  // namespace
}  // namespace hangdbg
