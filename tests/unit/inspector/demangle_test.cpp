// Compilers' mangled names, as readable ones.
#include "inspector/native/demangle.h"

#include <gtest/gtest.h>

#include <string>

namespace hangdbg {
namespace {

TEST(Demangle, LeavesPlainNames) {
  EXPECT_EQ(demangle(""), "");
  EXPECT_EQ(demangle("read"), "read");
  EXPECT_EQ(demangle("_Zebra"), "_Zebra");
  EXPECT_EQ(demangle("main.mcall"), "main.mcall");  // Go
}

TEST(Demangle, DropsWhatTheCompilerPutBehind) {
  EXPECT_EQ(demangle("_PyEval_EvalFrameDefault.cold"),
            "_PyEval_EvalFrameDefault");
  EXPECT_EQ(demangle("step.constprop.0"), "step");
  EXPECT_EQ(demangle("step.part.3.isra.0"), "step");
  EXPECT_EQ(demangle("_ZN3foo3barEv.cold"), "foo::bar");
  EXPECT_EQ(demangle("work._omp_fn.0"), "work");
}

TEST(Demangle, DropsArgumentsAndWhatIsReturned) {
  EXPECT_EQ(demangle("_ZN3c1010ThreadPool9main_loopEm"),
            "c10::ThreadPool::main_loop");
  EXPECT_EQ(demangle("_ZNK5Shape4areaERKSt6vectorIiSaIiEE"), "Shape::area");
  // int twice<int>(int)
  EXPECT_EQ(demangle("_Z5twiceIiET_S0_"), "twice<int>");
  // run()::{lambda(int)#1}::operator()(int) const
  EXPECT_EQ(demangle("_ZZ3runvENKUliE_clEi"), "run::{lambda}::operator()");
  EXPECT_EQ(demangle("_ZN12_GLOBAL__N_14workEi"),
            "(anonymous namespace)::work");
}

TEST(Demangle, KeepsOperators) {
  EXPECT_EQ(demangle("_ZN1SltERKS_"), "S::operator<");
  EXPECT_EQ(demangle("_ZN1SgtERKS_"), "S::operator>");
  EXPECT_EQ(demangle("_ZN1SlsEi"), "S::operator<<");
  EXPECT_EQ(demangle("_ZN1SptEv"), "S::operator->");
  EXPECT_EQ(demangle("_ZN1SclEi"), "S::operator()");
  EXPECT_EQ(demangle("_ZN1ScvbEv"), "S::operator bool");
  EXPECT_EQ(demangle("_Znwm"), "operator new");
  EXPECT_EQ(demangle("_ZN1S15append_operatorEi"), "S::append_operator");
}

TEST(Demangle, ShortensLongTemplateLists) {
  // map<map<…>, …>::find of strings
  const std::string name = demangle(
      "_ZNSt3mapINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEES5_St4less"
      "IS5_ESaISt4pairIKS5_S5_EEE4findERS9_");
  EXPECT_EQ(name, "std::map<…>::find");
}

TEST(Demangle, Rust) {
  EXPECT_EQ(demangle("_ZN4core3ptr13drop_in_place17h0123456789abcdefE"),
            "core::ptr::drop_in_place");
  EXPECT_EQ(demangle("_RNvNtCs1234_7mycrate3foo3bar"), "mycrate::foo::bar");
}

// f<pair<int, int>, pair<pair<int, int>, pair<int, int>>, …>: each has the one
// before twice.
TEST(Demangle, ABombStaysAsItIs) {
  std::string bomb = "_Z1fISt4pairIiiE";
  const std::string digits = "123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (const char digit : digits) {
    const std::string before = std::string("S") + digit + "_";
    bomb += "S0_I" + before + before + "E";
  }
  bomb += "Evv";
  EXPECT_EQ(demangle(bomb), bomb);
  const std::string deep = "_Z1f" + std::string(5000, 'P') + "i";
  EXPECT_FALSE(demangle(deep).empty());
  const std::string lengthy = "_Z1f" + std::string(100'000, 'P') + "i";
  EXPECT_EQ(demangle(lengthy), lengthy);
}

}  // namespace
}  // namespace hangdbg
