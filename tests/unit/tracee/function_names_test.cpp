// Functions by their addresses: in hand-made tables, and in this process.
#include "tracee/elf/function_names.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/support/cpu_time.h"

namespace hangdbg {
namespace {

constexpr Address kTable{0x1000};
constexpr Address kStrings{0x100'0000};
constexpr std::uint64_t kBias = 0x4000'0000;

// A table in memory, as the loader or a file has it.
class Symbols {
 public:
  void add(const std::string& name,
           std::uint64_t value,
           std::uint64_t size,
           unsigned char binding = STB_GLOBAL,
           unsigned char type = STT_FUNC,
           std::uint16_t section = 1) {
    Elf64_Sym symbol{};
    symbol.st_name = static_cast<std::uint32_t>(names_.size());
    symbol.st_value = value;
    symbol.st_size = size;
    symbol.st_info = ELF64_ST_INFO(binding, type);
    symbol.st_shndx = section;
    symbols_.push_back(symbol);
    names_ += name + '\0';
  }

  std::string name(std::uint64_t at) const {
    const auto names = look_up({Address{kBias + at}});
    return names.empty() ? "" : names.begin()->second;
  }

  FunctionNames look_up(const std::vector<Address>& code) const {
    FakeMemory memory;
    std::vector<std::byte> table(symbols_.size() * sizeof(Elf64_Sym));
    std::memcpy(table.data(), symbols_.data(), table.size());
    memory.add(kTable, table);
    const auto* text = reinterpret_cast<const std::byte*>(names_.data());
    memory.add(kStrings, {text, text + names_.size()});
    return function_names(memory,
                          {kTable, symbols_.size(), kStrings, names_.size()},
                          kBias, code);
  }

 private:
  std::vector<Elf64_Sym> symbols_;
  std::string names_;
};

TEST(FunctionNames, FromTheFirstByteToTheLast) {
  Symbols symbols;
  symbols.add("b", 0x200, 0x10);
  symbols.add("a", 0x100, 0x10);
  symbols.add("data", 0x300, 0x10, STB_GLOBAL, STT_OBJECT);
  symbols.add("elsewhere", 0x400, 0x10, STB_GLOBAL, STT_FUNC, SHN_UNDEF);
  EXPECT_EQ(symbols.name(0xff), "");
  EXPECT_EQ(symbols.name(0x100), "a");
  EXPECT_EQ(symbols.name(0x10f), "a");
  EXPECT_EQ(symbols.name(0x110), "");
  EXPECT_EQ(symbols.name(0x300), "");
  EXPECT_EQ(symbols.name(0x400), "");
  const auto names = symbols.look_up(
      {Address{kBias + 0x20f}, Address{kBias + 0x100}, Address{kBias + 0x150}});
  EXPECT_EQ(names, (FunctionNames{{Address{kBias + 0x100}, "a"},
                                  {Address{kBias + 0x20f}, "b"}}));
  EXPECT_TRUE(symbols.look_up({}).empty());
}

TEST(FunctionNames, OfSeveralTheOneThatPeopleSay) {
  Symbols symbols;
  symbols.add("__read", 0x100, 0x10);
  symbols.add("read", 0x100, 0x10, STB_WEAK);
  symbols.add("___read", 0x100, 0x10);
  symbols.add("copy", 0x100, 0x10, STB_LOCAL);
  EXPECT_EQ(symbols.name(0x104), "read");
}

TEST(FunctionNames, OfOneInAnotherTheInner) {
  Symbols symbols;
  symbols.add("inner", 0x140, 0x10, STB_LOCAL);
  symbols.add("outer", 0x100, 0x100);
  symbols.add("inner_too", 0x180, 0x10);
  EXPECT_EQ(symbols.name(0x144), "inner");
  EXPECT_EQ(symbols.name(0x184), "inner_too");
  EXPECT_EQ(symbols.name(0x150), "outer");
}

TEST(FunctionNames, OfAHostileTableAreBounded) {
  Symbols symbols;
  for (int i = 0; i < 200'000; ++i) {
    // Each covers all and is better than the one before.
    symbols.add("x", static_cast<std::uint64_t>(i), 0x1000'0000);
  }
  symbols.add("huge", 0, ~std::uint64_t{0});
  std::vector<Address> code;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    code.push_back(Address{kBias + 0x80'0000 + i});
  }
  const CpuTime cpu;
  EXPECT_LE(symbols.look_up(code).size(), code.size());
  EXPECT_LT(cpu.spent(), std::chrono::seconds(30));

  FakeMemory nothing;
  EXPECT_TRUE(function_names(nothing, {kTable, ~0ULL, kStrings, ~0ULL}, 0, code)
                  .empty());
}

[[gnu::used, gnu::noinline]] int has_a_name_in_the_file() {
  return 43;
}

TEST(FunctionNames, OfThisProcess) {
  const LiveMemory memory(::getpid());
  const auto modules = find_modules(read_maps(::getpid()).value());
  const auto name_of = [&](std::uint64_t at) {
    const Address code{at};
    const auto module = std::ranges::find_if(
        modules, [&](const Module& one) { return one.contains(code); });
    const auto names = function_names(::getpid(), memory, *module, {&code, 1});
    return names.empty() ? "" : names.begin()->second;
  };
  EXPECT_NE(name_of(reinterpret_cast<std::uint64_t>(&has_a_name_in_the_file))
                .find("has_a_name_in_the_file"),
            std::string::npos);
  EXPECT_EQ(name_of(reinterpret_cast<std::uint64_t>(&::getppid) + 1),
            "getppid");
  const auto vdso = std::ranges::find(modules, "[vdso]", &Module::path);
  if (vdso != modules.end()) {
    const auto image = ElfImage::read(memory, vdso->base).value();
    const auto call = image.find(memory, "__vdso_clock_gettime");
    ASSERT_TRUE(call);
    EXPECT_EQ(name_of(call->address.value + 1), "clock_gettime");
  }
}

}  // namespace
}  // namespace hangdbg
