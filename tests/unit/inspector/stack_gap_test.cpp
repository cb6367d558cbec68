// Stacks of a made program: functions that have unwind information, but no
// search table for it (frame_table.h), and code beside them that has none.
#include "inspector/native/stack_gap.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "inspector/native/frame_table.h"
#include "inspector/native/stack_copy.h"

namespace hangdbg {
namespace {

using namespace std::string_view_literals;

constexpr Address kImage{0x40'0000};
constexpr std::size_t kImageSize = 0x4000;
constexpr std::size_t kRecordsAt = 0x3008;
constexpr Address kMade{0x9000'0000};  // code without unwind information
constexpr Address kStack{0x7000'0000};

// Each function is 0x100 bytes long.
constexpr Address kMain{kImage.value + 0x1000};
constexpr Address kCaller{kImage.value + 0x1100};
constexpr Address kOther{kImage.value + 0x1200};
constexpr Address kByBase{kImage.value + 0x1300};  // its frame is found by rbp
constexpr Address kLeaf{kImage.value + 0x1400};    // calls nothing, nor jumps

// "A call at 0x20 that returns to".
constexpr Address behind_call(Address function) {
  return function + 0x20;
}

template <class T>
void put(std::vector<std::byte>& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

void put(std::vector<std::byte>& bytes, std::size_t at, std::string_view text) {
  std::memcpy(bytes.data() + at, text.data(), text.size());
}

struct Program {
  Program() {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_phoff = sizeof header;
    header.e_phnum = 1;
    header.e_phentsize = sizeof(Elf64_Phdr);
    Elf64_Phdr segment{};
    segment.p_type = PT_LOAD;
    segment.p_flags = PF_R | PF_X;
    segment.p_memsz = kImageSize;
    put(image, 0, header);
    put(image, sizeof header, segment);

    const std::size_t cie = kRecordsAt;
    put(image, cie, std::uint32_t{20});
    put(image, cie + 4, "\0\0\0\0\1zR\0\1\x78\x10\1\x1b"sv);
    put(image, cie + 17, "\x0c\x07\x08\x90\x01"sv);  // CFA rsp+8, rip below it
    record(kMain, "\x07\x10"sv);                     // it has no caller
    record(kCaller, "\x0e\x20"sv);                   // CFA is rsp+0x20
    record(kOther, "\x0e\x20"sv);
    record(kByBase, "\x0c\x06\x10\x86\x02"sv);  // CFA is rbp+0x10, which
                                                // is kept below rip
    record(kLeaf, ""sv);
    for (const Address function : {kMain, kCaller, kOther, kByBase}) {
      call(function, "\xff\xd0"sv);  // of whatever it is
    }
    put(made, 0x1e, "\xff\xd0"sv);
  }

  void record(Address function, std::string_view how) {
    put(image, record_, std::uint32_t{20});
    put(image, record_ + 4,
        static_cast<std::uint32_t>(record_ + 4 - kRecordsAt));
    put(image, record_ + 8,
        static_cast<std::int32_t>(function.value -
                                  (kImage.value + record_ + 8)));
    put(image, record_ + 12, std::uint32_t{0x100});
    put(image, record_ + 17, how);
    record_ += 24;
  }

  // The function's call at 0x20 is this one.
  void call(Address function, std::string_view code) {
    put(image, behind_call(function) - kImage - code.size(), code);
  }

  void call(Address function, Address target) {
    const Address after = behind_call(function);
    std::string code = "\xe8....";
    const auto distance = static_cast<std::int32_t>(target.value - after.value);
    std::memcpy(code.data() + 1, &distance, sizeof distance);
    call(function, code);
  }

  void push(std::size_t word, Address value) { stack.at(word) = value.value; }

  NativeStack unwind(Address pc, std::size_t word = 0) const {
    FakeMemory memory;
    memory.add(kImage, image);
    memory.add(kMade, made);
    StackCopy copy;
    copy.registers.raw.rip = pc.value;
    copy.registers.raw.rsp = kStack.value + word * 8;
    copy.from = kStack;
    copy.bytes.resize(stack.size() * 8);
    std::memcpy(copy.bytes.data(), stack.data(), copy.bytes.size());
    copy.end = kStack + copy.bytes.size() + not_copied;
    Module module;
    module.path = "/program";
    module.base = kImage;
    module.end = kImage + kImageSize;
    module.segments.push_back({.start = module.base,
                               .end = module.end,
                               .readable = true,
                               .executable = true});
    const std::vector<Module> modules = {module};
    CopyUnwinder unwinder(memory, modules);
    return unwinder.unwind(copy, Deadline::in(std::chrono::seconds(10)))
        .value();
  }

  std::vector<std::byte> image = std::vector<std::byte>(kImageSize);
  std::vector<std::byte> made = std::vector<std::byte>(0x1000);
  std::vector<std::uint64_t> stack = std::vector<std::uint64_t>(512);
  std::uint64_t not_copied = 0;

 private:
  std::size_t record_ = kRecordsAt + 24;
};

std::vector<Address> code_of(const NativeStack& stack) {
  std::vector<Address> all;
  for (const NativeFrame& frame : stack.frames) {
    all.push_back(frame.pc);
  }
  return all;
}

using Code = std::vector<Address>;
constexpr Address kMadeAt = kMade + 0x80;

TEST(FrameTable, IsMadeOfTheRecords) {
  Program program;
  // kMain is in no gap: its own record says that it is the last.
  const auto stack = program.unwind(kMain + 8);
  EXPECT_EQ(code_of(stack), Code{kMain + 8});
  EXPECT_TRUE(stack.complete);
}

TEST(FrameTable, OverJunkIsBounded) {
  std::mt19937_64 random(20261121);
  for (int round = 0; round < 300; ++round) {
    Program program;
    for (std::size_t at = kRecordsAt + 24; at < kImageSize; ++at) {
      if (random() % 4 == 0) {
        program.image[at] = static_cast<std::byte>(random());
      }
    }
    EXPECT_FALSE(program.unwind(kCaller + 8).frames.empty());
  }
}

TEST(StackGap, IsCrossedToTheCaller) {
  Program program;
  program.push(5, behind_call(kCaller));
  program.push(9, behind_call(kMain));
  const auto stack = program.unwind(kMadeAt);
  EXPECT_EQ(code_of(stack),
            (Code{kMadeAt, behind_call(kCaller), behind_call(kMain)}));
  EXPECT_TRUE(stack.complete);
  EXPECT_FALSE(stack.frames[0].behind_gap);
  EXPECT_TRUE(stack.frames[1].behind_gap && stack.frames[2].behind_gap);
  EXPECT_FALSE(stack.frames[1].interrupted);
  EXPECT_EQ(stack.frames[1].sp, kStack + 6 * 8);
}

TEST(StackGap, IsTheEndWhereNothingFollows) {
  Program program;
  const auto stack = program.unwind(kMadeAt);
  EXPECT_EQ(code_of(stack), Code{kMadeAt});
  EXPECT_TRUE(stack.complete);
}

TEST(StackGap, IsNotTheEndWhereMoreWasNotCopied) {
  Program program;
  program.not_copied = 1;
  EXPECT_FALSE(program.unwind(kMadeAt).complete);
}

TEST(StackGap, ThereMayBeSeveral) {
  Program program;
  program.push(5, behind_call(kCaller));
  program.push(9, kMade + 0x20);  // which called kCaller
  program.push(15, behind_call(kOther));
  program.push(19, kMade + 0x20);  // with which the thread began
  const auto stack = program.unwind(kMadeAt);
  EXPECT_EQ(code_of(stack), (Code{kMadeAt, behind_call(kCaller), kMade + 0x20,
                                  behind_call(kOther), kMade + 0x20}));
  EXPECT_TRUE(stack.complete);
}

// What calls that have returned have left on the stack.
TEST(StackGap, AWordThatLeadsNowhereIsPassedOver) {
  Program program;
  program.push(3, behind_call(kOther));
  program.push(7, Address{0x1234});
  program.push(9, behind_call(kCaller));
  program.push(13, behind_call(kMain));
  EXPECT_EQ(code_of(program.unwind(kMadeAt)),
            (Code{kMadeAt, behind_call(kCaller), behind_call(kMain)}));
}

TEST(StackGap, AWordIsPassedOverWhoseCallCallsOtherCode) {
  Program program;
  program.call(kOther, kLeaf);
  program.push(1, behind_call(kOther));  // it would lead to kCaller
  program.push(5, behind_call(kCaller));
  program.push(9, behind_call(kMain));
  EXPECT_EQ(code_of(program.unwind(kMadeAt)),
            (Code{kMadeAt, behind_call(kCaller), behind_call(kMain)}));
}

TEST(StackGap, AWordIsTakenWhoseCallCallsWhatEndsInAJump) {
  Program program;
  program.call(kOther, kLeaf);
  put(program.image, kLeaf - kImage + 8, "\xff\xe0"sv);
  program.push(1, behind_call(kOther));
  program.push(5, behind_call(kCaller));
  program.push(9, behind_call(kMain));
  EXPECT_EQ(code_of(program.unwind(kMadeAt)),
            (Code{kMadeAt, behind_call(kOther), behind_call(kCaller),
                  behind_call(kMain)}));
}

TEST(StackGap, AWordIsPassedOverWhoseCallerCalledUntabledCode) {
  Program program;
  // kCaller's call is of the code that runs now, so kOther is not its callee.
  constexpr Address kPlain{kImage.value + 0x2000};
  program.call(kCaller, kPlain);
  program.push(1, behind_call(kOther));
  program.push(5, behind_call(kCaller));
  program.push(9, behind_call(kMain));
  EXPECT_EQ(code_of(program.unwind(kPlain + 8)),
            (Code{kPlain + 8, behind_call(kCaller), behind_call(kMain)}));
}

TEST(StackGap, AFramePointerIsFoundInIt) {
  Program program;
  program.push(2, kStack + 12 * 8);  // kByBase's rbp, kept by its callee
  program.push(5, behind_call(kByBase));
  program.push(13, behind_call(kMain));
  EXPECT_EQ(code_of(program.unwind(kMadeAt)),
            (Code{kMadeAt, behind_call(kByBase), behind_call(kMain)}));
}

// A thread asleep in kLeaf, of which only rip and rsp are known.
TEST(StackGap, AFramePointerThatWasNotGivenIsFound) {
  Program program;
  program.push(0, behind_call(kByBase));
  program.push(11, behind_call(kMain));
  const auto stack = program.unwind(kLeaf + 8);
  EXPECT_EQ(code_of(stack),
            (Code{kLeaf + 8, behind_call(kByBase), behind_call(kMain)}));
  EXPECT_TRUE(stack.complete);
  EXPECT_FALSE(stack.baseless || stack.frames[2].behind_gap);
}

TEST(StackGap, TheNextFramePointerIsWhereTheCodeSays) {
  Program program;
  program.push(0, behind_call(kByBase));
  program.push(10, kStack + 28 * 8);
  program.push(11, behind_call(kCaller));
  program.push(15, behind_call(kByBase));
  program.push(29, behind_call(kMain));
  EXPECT_EQ(code_of(program.unwind(kLeaf + 8)),
            (Code{kLeaf + 8, behind_call(kByBase), behind_call(kCaller),
                  behind_call(kByBase), behind_call(kMain)}));
}

TEST(StackGap, AFramePointerIsNotTakenBelowACallOfOtherCode) {
  Program program;
  program.call(kOther, kLeaf);
  program.call(kMain, kCaller);
  program.push(0, behind_call(kByBase));
  program.push(5, behind_call(kOther));  // it would lead to kMain too
  program.push(9, behind_call(kMain));
  program.push(12, behind_call(kCaller));
  program.push(16, behind_call(kMain));
  EXPECT_EQ(code_of(program.unwind(kLeaf + 8)),
            (Code{kLeaf + 8, behind_call(kByBase), behind_call(kCaller),
                  behind_call(kMain)}));
}

TEST(StackGap, WithoutItsFramePointerTheStackIsIncomplete) {
  Program program;
  program.push(0, behind_call(kByBase));
  const auto stack = program.unwind(kLeaf + 8);
  EXPECT_EQ(code_of(stack), (Code{kLeaf + 8, behind_call(kByBase)}));
  EXPECT_TRUE(stack.baseless);
  EXPECT_FALSE(stack.complete);
}

TEST(StackGap, WhereNoWordLeadsToTheEndTheStackIsIncomplete) {
  Program program;
  program.push(5, behind_call(kCaller));
  program.push(9, Address{0x1234});
  const auto stack = program.unwind(kMadeAt);
  EXPECT_EQ(code_of(stack), Code{kMadeAt});
  EXPECT_FALSE(stack.complete);
}

TEST(StackGap, AZeroIsNoEnd) {
  Program program;
  program.push(1, behind_call(kOther));  // returns to 0
  program.push(7, behind_call(kCaller));
  program.push(11, behind_call(kMain));
  EXPECT_EQ(code_of(program.unwind(kMadeAt)),
            (Code{kMadeAt, behind_call(kCaller), behind_call(kMain)}));
}

// Each word leads to another gap, and from there many to the next.
TEST(StackGap, OverAStackFullOfReturnAddressesIsBounded) {
  Program program;
  program.stack.assign(1U << 14, 0);
  for (std::size_t i = 1; i < program.stack.size(); i += 2) {
    const bool calls = i % 8 < 4;
    program.stack[i] = (calls ? behind_call(kCaller) : kMade + 0x20).value;
  }
  program.not_copied = 1;  // so none leads to the end
  const auto from = std::chrono::steady_clock::now();
  const auto stack = program.unwind(kMadeAt);
  EXPECT_EQ(code_of(stack), Code{kMadeAt});
  EXPECT_FALSE(stack.complete);
  EXPECT_LT(std::chrono::steady_clock::now() - from, std::chrono::seconds(5));
}

// mov $15,%rax; syscall, and above it on the stack what the kernel has saved.
TEST(StackGap, AHandlersEndNeedsNoTable) {
  Program program;
  put(program.made, 0x40, "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"sv);
  program.push(4, kMade + 0x40);           // to which kCaller returns
  program.push(5 + 20, kStack + 100 * 8);  // rsp in struct sigcontext
  program.push(5 + 21, kOther + 8);        // rip
  program.push(103, behind_call(kMain));
  const auto stack = program.unwind(kCaller + 8, 1);
  EXPECT_EQ(code_of(stack),
            (Code{kCaller + 8, kMade + 0x40, kOther + 8, behind_call(kMain)}));
  ASSERT_EQ(stack.frames.size(), 4);
  EXPECT_TRUE(stack.frames[2].interrupted);
  EXPECT_FALSE(stack.frames[3].behind_gap);
  EXPECT_TRUE(stack.complete);
}

}  // namespace
}  // namespace hangdbg
