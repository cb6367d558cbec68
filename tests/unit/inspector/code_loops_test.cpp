// The loops of real functions, as each interpreter has compiled them, compared
// with their source; and the instructions, compared with `dis`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "inspector/cpython/code/code_object.h"
#include "inspector/cpython/code/loop_conditions.h"
#include "inspector/cpython/runtime/python_process.h"
#include "tests/unit/support/interpreters.h"
#include "tests/unit/support/processes.h"

namespace hangdbg {
namespace {

class CodeLoops : public OnEachPython {};

// One of each shape; its last call is `sleep()`. Printed for each: its name,
// its code object, the offset of that call, and the line before which its loop
// begins (0: it has none); for the first, all instructions by `dis`.
constexpr const char* kShapes = R"py(
import dis, os
SOURCE = '''
def while_call():
    while not os.path.exists(path):
        sleep()
def while_true_break():
    while True:
        if f(1): break
        sleep()
def for_retry():
    for i in range(5):
        try: return f()
        except ValueError: sleep()
def while_attribute():
    while not flag.done:
        sleep()
def periodic():
    while True:
        work()
        sleep()
def plain():
    sleep()
def nested():
    for one in all:
        while True:
            for path in paths:
                if os.path.exists(path): return path
            sleep()
def by_variable():
    status = 0
    while status != 1:
        status = f(status)
        sleep()
def counter():
    i = 0
    while i < 10:
        sleep()
        i += 1
def deadline():
    while time.time() < end:
        if f(): return 1
        sleep()
def flag_and_work():
    while not flag.done:
        work()
        sleep()
def interrupted():
    while True:
        try:
            work()
            sleep()
        except KeyboardInterrupt:
            break
def swallows():
    while True:
        try: work()
        except KeyError: pass
        sleep()
def with_lock():
    while True:
        with lock:
            if flag.done: break
        sleep()
def with_work():
    while True:
        with lock:
            work()
        sleep()
def by_constant():
    ok = False
    while not ok:
        for p in paths:
            if f(p): ok = True
        sleep()
def batches():
    for b in all:
        work()
        sleep()
def comprehension():
    return [sleep() for i in all]
def and_flag():
    while not (f() and flag.done):
        sleep()
async def coroutine():
    while not f():
        sleep()
async def awaits():
    while not f():
        await sleep()
async def awaits_asked():
    while not await f():
        work()
        await sleep()
def tries_itself():
    while True:
        try: return sleep()
        except ValueError: pass
def tries_itself_and_breaks():
    while True:
        try:
            item = sleep()
            break
        except ValueError: continue
def asks_itself():
    while True:
        if sleep(): break
def works_on_itself():
    while True:
        try: item = sleep()
        except ValueError: continue
        work(item)
def keyword():
    while not f(1, name=path):
        sleep()
def long_one():
%s
    while not f(x3):
%s
        sleep()
''' % ("\n".join("    x%d = %d" % (i, i) for i in range(400)),
       "\n".join("        y%d = x%d" % (i, i) for i in range(300)))
names = {}
exec(SOURCE, names)
kept = []
out = []
for name, function in names.items():
    if not hasattr(function, "__code__"): continue
    code = function.__code__
    if name == "comprehension":
        inner = [c for c in code.co_consts if hasattr(c, "co_code")]
        code = inner[0] if inner else code
    seen = None
    for one in dis.get_instructions(code):
        if one.opname in ("LOAD_GLOBAL", "LOAD_NAME") and one.argval == "sleep": seen = one
        if seen is not None and one.opname in ("CALL", "CALL_FUNCTION"):
            place = one.offset
            if not name.startswith("awaits"): break
        # Where a coroutine that awaits it is suspended.
        if seen is not None and one.opname in ("YIELD_VALUE", "YIELD_FROM"):
            place = one.offset
            break
    jumps = [[one.offset, one.argval] for one in dis.get_instructions(code)
             if one.opcode in dis.hasjrel or one.opcode in dis.hasjabs]
    kept.append(code)
    out.append("%s %d %d %s" % (name, id(code), place, ",".join("%d:%d" % tuple(j) for j in jumps)))
say("|".join(out))
import time
time.sleep(1000)
)py";

struct Told {
  Address code;
  std::int64_t place = 0;
  std::map<std::int64_t, std::int64_t> jumps;
};

std::map<std::string, Told> told(const std::string& said) {
  std::map<std::string, Told> all;
  std::istringstream shapes(said);
  for (std::string shape; std::getline(shapes, shape, '|');) {
    std::istringstream words(shape);
    std::string name, jumps;
    Told one;
    words >> name >> one.code.value >> one.place >> jumps;
    std::istringstream pairs(jumps);
    for (std::string pair; std::getline(pairs, pair, ',');) {
      one.jumps[std::stoll(pair)] = std::stoll(pair.substr(pair.find(':') + 1));
    }
    all[name] = one;
  }
  return all;
}

// "polls f(1); work()" of the innermost loop: what it polls, what it does.
std::string described(const FrameLoops& read) {
  if (read.loops.empty()) {
    return "no loop";
  }
  const LoopAround& loop = read.loops.front();
  std::string text = "asks";
  for (const CallText& call : loop.conditions) {
    text += " " + call.text;
  }
  text += loop.asks_itself ? " itself" : "";
  for (const std::string& name : loop.variables) {
    text += " " + name;
  }
  for (const CallText& call : loop.work) {
    text += "; " + call.text;
  }
  return text;
}

const std::map<std::string, std::string> kExpected = {
    {"while_call", "asks os.path.exists(path)"},
    {"while_true_break", "asks f(1)"},
    {"for_retry", "asks f()"},
    {"while_attribute", "asks flag.done"},
    {"tries_itself", "asks itself"},
    {"tries_itself_and_breaks", "asks itself"},
    {"asks_itself", "asks itself"},
    {"works_on_itself", "asks; work(item)"},
    {"periodic", "asks; work()"},
    {"plain", "no loop"},
    {"nested", "asks os.path.exists(path)"},
    {"by_variable", "asks f(status)"},
    {"counter", "asks"},
    {"deadline", "asks f()"},
    {"flag_and_work", "asks flag.done; work()"},
    {"interrupted", "asks; work()"},
    {"swallows", "asks; work()"},
    {"with_lock", "asks flag.done"},
    {"with_work", "asks; work()"},
    {"by_constant", "asks f(p)"},
    {"batches", "asks; work()"},
    {"comprehension", "asks"},
    {"and_flag", "asks f() flag.done"},
    {"coroutine", "asks f()"},
    {"awaits", "asks f()"},
    {"awaits_asked", "asks f(); work()"},
    {"keyword", "asks f(1, name=path)"},
    {"long_one", "asks f(x3)"},
};

// 3.6 computes `not (a and b)` as one value: its first call is shown.
std::string expected_on(const std::string& version,
                        const std::string& name,
                        const std::string& expected) {
  return version.starts_with("3.6") && name == "and_flag" ? "asks f()"
                                                          : expected;
}

TEST_P(CodeLoops, AreAsInTheSource) {
  PythonChild child(path_, kShapes);
  const auto process = open_python(child.pid());
  ASSERT_TRUE(process);
  const auto objects = ObjectReader::open(process->memory, process->python);
  ASSERT_TRUE(objects);
  const auto all = told(child.said());
  for (const auto& [name, expected] : kExpected) {
    ASSERT_TRUE(all.contains(name)) << child.said();
    objects->allow_reads();
    const auto read =
        read_frame_loops(*objects, all.at(name).code, all.at(name).place);
    ASSERT_TRUE(read) << name << ": " << read.error().message;
    EXPECT_EQ(described(*read), expected_on(GetParam(), name, expected))
        << name;
    EXPECT_EQ(read->call.callee, "sleep") << name;
  }
}

TEST_P(CodeLoops, JumpsAreAsDisSays) {
  PythonChild child(path_, kShapes);
  const auto process = open_python(child.pid());
  ASSERT_TRUE(process);
  const auto objects = ObjectReader::open(process->memory, process->python);
  ASSERT_TRUE(objects);
  for (const auto& [name, one] : told(child.said())) {
    objects->allow_reads();
    const auto code = read_code_object(*objects, one.code);
    ASSERT_TRUE(code) << name << ": " << code.error().message;
    std::size_t jumps = 0;
    for (const auto& [from, to] : one.jumps) {
      const auto at = instruction_at(code->flow.code, from);
      ASSERT_NE(at, Instruction::kNone) << name << " " << from;
      const Instruction& jump = code->flow.code[slot(at)];
      ASSERT_NE(jump.target, Instruction::kNone) << name << " " << from;
      EXPECT_EQ(code->flow.code[slot(jump.target)].end,
                code->flow.code[slot(instruction_at(code->flow.code, to))].end)
          << name << " " << from;
      ++jumps;
    }
    EXPECT_EQ(jumps, static_cast<std::size_t>(std::ranges::count_if(
                         code->flow.code,
                         [](const Instruction& each) {
                           return each.target != Instruction::kNone;
                         })))
        << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Each,
                         CodeLoops,
                         testing::ValuesIn(kEveryBuild),
                         python_name);

std::vector<std::byte> bytes_of(std::initializer_list<int> all) {
  std::vector<std::byte> made;
  for (const int one : all) {
    made.push_back(static_cast<std::byte>(one));
  }
  return made;
}

TEST(CodeInstructions, ThatAreNone) {
  EXPECT_FALSE(read_instructions(bytes_of({1}), 11));         // half a unit
  EXPECT_FALSE(read_instructions(bytes_of({0, 0}), 11));      // a cache
  EXPECT_FALSE(read_instructions(bytes_of({0, 0}), 8));       // no opcode
  EXPECT_FALSE(read_instructions(bytes_of({113, 200}), 8));   // jumps away
  EXPECT_FALSE(read_instructions(bytes_of({140, 200}), 12));  // likewise
  EXPECT_FALSE(read_instructions(bytes_of({254, 0}), 12));    // what hides?
  EXPECT_FALSE(read_instructions(bytes_of({9, 0}), 5));       // 3.5
  EXPECT_EQ(read_instructions({}, 12)->size(), 0U);
}

// 3.12: 9 is NOP, 254 INSTRUMENTED_LINE, 253 INSTRUMENTED_INSTRUCTION.
TEST(CodeInstructions, ThatAreInstrumented) {
  const auto code =
      read_instructions(bytes_of({254, 0, 253, 0, 9, 0}), 12,
                        {.lines = {253, 0, 0}, .instructions = {9, 9, 0}});
  ASSERT_TRUE(code);
  EXPECT_THAT(*code, testing::Each(testing::Field(&Instruction::op, Op::NOP)));
}

// 3.13: 27 or 30 is NOP, by the table; 255 is ENTER_EXECUTOR.
TEST(CodeInstructions, ThatAreCompiled) {
  const OpcodeTable& table = *opcode_table(13);
  int number = 0;
  while (table.at(static_cast<std::size_t>(number)).op != Op::NOP) {
    ++number;
  }
  HiddenOpcodes hidden;
  hidden.executors = {{static_cast<std::uint8_t>(number), 7}};
  int enters = 0;
  while (table.at(static_cast<std::size_t>(enters)).op != Op::ENTER_EXECUTOR) {
    ++enters;
  }
  const auto code = read_instructions(bytes_of({enters, 0}), 13, hidden);
  ASSERT_TRUE(code);
  EXPECT_EQ(code->front().op, Op::NOP);
  EXPECT_EQ(code->front().arg, 7U);
  EXPECT_FALSE(read_instructions(bytes_of({enters, 1}), 13, hidden));
}

TEST(CodeFlow, OfWhateverBytes) {
  // All bytes in a row, by each version: either no bytecode, or a flow.
  for (int minor = 6; minor <= 14; ++minor) {
    for (int seed = 1; seed < 200; ++seed) {
      std::vector<std::byte> bytes;
      for (int i = 0; i < 64; ++i) {
        bytes.push_back(static_cast<std::byte>(i * seed * 7 + seed));
      }
      auto code = read_instructions(bytes, minor);
      if (code) {
        const auto flow = make_flow(*std::move(code), bytes);
        for (std::int32_t at = 0; at < flow.size(); ++at) {
          loops_around(flow, at);
        }
      }
    }
  }
}

}  // namespace
}  // namespace hangdbg
