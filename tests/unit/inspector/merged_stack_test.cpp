// The merge of hand-made stacks: what is placed where, and when nothing is.
#include "inspector/snapshot/merged_stack.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hangdbg {
namespace {

constexpr const char* kLoop = "_PyEval_EvalFrameDefault";

// Frames of 100 bytes each, innermost first. Those of the interpreter are
// named ":function".
std::vector<NamedFrame> native(const std::vector<std::string>& names) {
  std::vector<NamedFrame> frames;
  for (const std::string& name : names) {
    NamedFrame frame;
    frame.sp = Address{1000 + frames.size() * 100};
    frame.interpreter = name.starts_with(':');
    frame.symbol.function = frame.interpreter ? name.substr(1) : name;
    frame.symbol.module = frame.interpreter ? "python" : "libx.so";
    frames.push_back(std::move(frame));
  }
  return frames;
}

// "f" is a frame; "f!" one that a C frame begins with, and "f!1234" one that
// records the address in that C frame.
PythonStack python(const std::vector<std::string>& names) {
  PythonStack stack;
  for (const std::string& name : names) {
    PythonFrame frame;
    const auto mark = name.find('!');
    frame.function = name.substr(0, mark);
    frame.entry = mark != name.npos;
    if (frame.entry && mark + 1 < name.size()) {
      frame.loop = Address{std::stoul(name.substr(mark + 1))};
    }
    stack.frames.push_back(frame);
  }
  return stack;
}

std::string text(const MergedStack& stack, const PythonStack& python) {
  std::vector<std::string> names;
  for (const StackEntry& entry : stack.entries) {
    const bool is_native = entry.kind == StackEntry::Kind::Native;
    names.push_back(is_native ? "C:" + entry.native.function
                              : python.frames[entry.frame].function);
  }
  return fmt::format("{}{}", fmt::join(names, " "),
                     stack.merged ? "" : " UNMERGED");
}

std::string merged(const std::vector<std::string>& c,
                   const std::vector<std::string>& py,
                   bool complete = true) {
  const auto frames = python(py);
  return text(merge_stacks(native(c), complete, frames), frames);
}

const std::string kEval = std::string(":") + kLoop;

TEST(MergeStacks, EachFrameAtItsLoop) {
  EXPECT_EQ(merged({"read", ":os_read", kEval, ":_PyFunction_Vectorcall",
                    ":map_next", kEval, ":Py_RunMain", "_start"},
                   {"leaf!", "root!"}),
            "C:read C:os_read leaf C:map_next root");
}

TEST(MergeStacks, SeveralFramesAtOneLoop) {
  EXPECT_EQ(merged({"read", kEval, ":builtin_next", kEval, "start_thread"},
                   {"a", "b", "c!", "d", "e!"}),
            "C:read a b c C:builtin_next d e");
}

TEST(MergeStacks, ALoopThatHasNoFrameYet) {
  EXPECT_EQ(merged({kEval, ":map_next", kEval}, {"root!"}), "C:map_next root");
}

TEST(MergeStacks, CountsThatDifferAreNotMerged) {
  const auto frames = python({"root!"});
  const auto stack = merge_stacks(
      native({"read", kEval, ":map_next", kEval, "clone3"}), true, frames);
  EXPECT_EQ(text(stack, frames),
            "root C:read C:_PyEval_EvalFrameDefault C:map_next "
            "C:_PyEval_EvalFrameDefault C:clone3 UNMERGED");
  EXPECT_NE(stack.reason, "");
  EXPECT_EQ(merged({"read", kEval}, {"leaf!", "root!"}),
            "leaf root C:read C:_PyEval_EvalFrameDefault UNMERGED");
}

TEST(MergeStacks, CountsOfAnIncompleteStackSayNothing) {
  EXPECT_EQ(merged({"read", kEval}, {"root!"}, false),
            "root C:read C:_PyEval_EvalFrameDefault UNMERGED");
  EXPECT_EQ(merged({}, {"root!"}, false), "root UNMERGED");
  EXPECT_EQ(merged({}, {"root!1150"}, false), "root UNMERGED");
}

// The frames are [1000, 1100), [1100, 1200) and so on.
TEST(MergeStacks, AddressesNeedNoNamesAndNoCount) {
  EXPECT_EQ(merged({"read", ":", ":map_next", kEval, ":", "clone3"},
                   {"a", "b!1150", "c!1420"}),
            "C:read a b C:map_next c");
}

// Each handler of such an interpreter jumps to the next, on top of the loop.
TEST(MergeStacks, OfATailCallingInterpreter) {
  EXPECT_EQ(merged({"read", ":os_read", ":_TAIL_CALL_CALL", kEval, ":map_next",
                    ":_TAIL_CALL_FOR_ITER", kEval, "_start"},
                   {"a", "b!1350", "c!1690"}),
            "C:read C:os_read a b C:map_next c");
}

TEST(MergeStacks, AnAddressOutOfPlaceIsNotMerged) {
  EXPECT_EQ(merged({"read", kEval, kEval}, {"a!1150", "b!1160"}),
            "a b C:read C:_PyEval_EvalFrameDefault "
            "C:_PyEval_EvalFrameDefault UNMERGED");
  EXPECT_EQ(merged({"read", kEval, kEval}, {"a!1250", "b!1150"}),
            "a b C:read C:_PyEval_EvalFrameDefault "
            "C:_PyEval_EvalFrameDefault UNMERGED");
  EXPECT_EQ(merged({"read", kEval}, {"a!900"}),
            "a C:read C:_PyEval_EvalFrameDefault UNMERGED");
}

TEST(MergeStacks, WhereTheCFramesEndPythonGoesOn) {
  const auto frames = python({"a!1150", "b!1900", "c!2200"});
  const auto stack =
      merge_stacks(native({"read", kEval, "jit"}), false, frames);
  EXPECT_EQ(text(stack, frames), "C:read a C:jit b c");
  EXPECT_TRUE(stack.merged);
  EXPECT_FALSE(stack.complete);
  EXPECT_NE(stack.reason, "");
}

TEST(MergeStacks, AThreadWithoutPythonHasAllItsFrames) {
  EXPECT_EQ(merged({"poll", "run", "start_thread", "clone3"}, {}),
            "C:poll C:run C:start_thread C:clone3");
}

TEST(MergeStacks, OfAProgramThatEmbedsPythonItsOwnFramesStay) {
  EXPECT_EQ(merged({"read", kEval, ":PyRun_StringFlags", "run_script", "main",
                    "__libc_start_call_main", "_start"},
                   {"root!"}),
            "C:read root C:run_script C:main");
}

TEST(MergeStacks, AnInnerFunctionOfThatNameIsNoStart) {
  EXPECT_EQ(merged({"read", kEval, "main", ":cfunction_call", kEval, "_start"},
                   {"a!", "b!"}),
            "C:read a C:main b");
}

}  // namespace
}  // namespace hangdbg
