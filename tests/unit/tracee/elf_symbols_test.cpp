// ElfImage on this process's own libraries, whose symbols dlsym(3) knows too,
// and on corrupt images.
#include "tracee/elf/elf_symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <string>

#include "tracee/proc/proc_maps.h"

namespace hangdbg {
namespace {

constexpr Address kBase{0x7f00'0000'0000};
constexpr std::size_t kSize = 0x10000;
constexpr std::uint64_t kHeadersAt = sizeof(Elf64_Ehdr);
constexpr std::uint64_t kDynamicAt = 0x200;
constexpr std::uint64_t kSymbolsAt = 0x400;
constexpr std::uint64_t kStringsAt = 0x800;
constexpr std::uint64_t kVersionsAt = 0xa00;
constexpr std::uint64_t kHashAt = 0xc00;
constexpr std::uint64_t kHuge = std::uint64_t{1} << 60;

// glibc's dl_new_hash() of these names.
const std::map<std::string, std::uint32_t> kGnuHash = {{"printf", 0x156b2bb8},
                                                       {"exit", 0x7c967e3f},
                                                       {"syscall", 0xbac212a0}};

enum class Hash { Gnu, Sysv };

struct FakeSymbol {
  std::string name;
  std::uint64_t value = 0;
  bool hidden = false;  // not the default version
  bool defined = true;
};

// An image of one segment; all symbols are in one hash bucket. Its fields may
// be corrupted before memory() is called.
class FakeImage {
 public:
  explicit FakeImage(Hash hash,
                     const std::vector<FakeSymbol>& symbols,
                     bool relocated = true)
      : bytes_(kSize) {
    const std::uint64_t bias = relocated ? kBase.value : 0;
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_phoff = kHeadersAt;
    header.e_phnum = 3;
    header.e_phentsize = sizeof(Elf64_Phdr);
    load.p_type = PT_LOAD;
    load.p_flags = PF_R | PF_X;
    load.p_memsz = kSize;
    dynamic.p_type = PT_DYNAMIC;
    dynamic.p_vaddr = kDynamicAt;
    dynamic.p_memsz = 7 * sizeof(Elf64_Dyn);
    unwind.p_type = PT_GNU_EH_FRAME;
    unwind.p_vaddr = 0x3000;
    unwind.p_memsz = 0x40;

    std::string strings(1, '\0');
    std::vector<std::uint32_t> chain;
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      Elf64_Sym symbol{};
      symbol.st_name = static_cast<Elf64_Word>(strings.size());
      symbol.st_value = symbols[i].value;
      symbol.st_size = 16;
      symbol.st_shndx = symbols[i].defined ? 1 : SHN_UNDEF;
      put(kSymbolsAt + (i + 1) * sizeof symbol, symbol);
      put<std::uint16_t>(kVersionsAt + (i + 1) * 2,
                         symbols[i].hidden ? 0x8002 : 2);
      strings += symbols[i].name + '\0';
      const bool last = i + 1 == symbols.size();
      chain.push_back(hash == Hash::Gnu
                          ? (kGnuHash.at(symbols[i].name) & ~1U) | last
                      : last ? 0
                             : static_cast<std::uint32_t>(i + 2));
    }
    std::memcpy(bytes_.data() + kStringsAt, strings.data(), strings.size());
    entries = {{DT_SYMTAB, {bias + kSymbolsAt}},
               {DT_STRTAB, {bias + kStringsAt}},
               {DT_STRSZ, {strings.size()}},
               {DT_VERSYM, {bias + kVersionsAt}},
               {hash == Hash::Gnu ? DT_GNU_HASH : DT_HASH, {bias + kHashAt}},
               {DT_NULL, {0}},
               {DT_SYMTAB, {0xbad}}};
    if (hash == Hash::Gnu) {
      // 1 bucket, symbols from 1 on, 1 word of a bloom filter that lets all
      // pass, its shift; the filter; the bucket; the chain.
      words = {1, 1, 1, 6, ~0U, ~0U, 1};
    } else {
      // 1 bucket, so many symbols; the bucket; the chain from symbol 0 on.
      words = {1, static_cast<std::uint32_t>(symbols.size() + 1), 1, 0};
    }
    words.insert(words.end(), chain.begin(), chain.end());
  }

  template <class T>
  void put(std::uint64_t at, const T& value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }

  std::vector<std::byte> bytes() {
    put(0, header);
    put(kHeadersAt, load);
    put(kHeadersAt + sizeof load, dynamic);
    put(kHeadersAt + 2 * sizeof load, unwind);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      put(kDynamicAt + i * sizeof(Elf64_Dyn), entries[i]);
    }
    for (std::size_t i = 0; i < words.size(); ++i) {
      put(kHashAt + i * 4, words[i]);
    }
    return bytes_;
  }

  void set(Elf64_Sxword tag, std::uint64_t value) {
    std::ranges::find(entries, tag, &Elf64_Dyn::d_tag)->d_un.d_val = value;
  }

  Elf64_Ehdr header{};
  Elf64_Phdr load{};
  Elf64_Phdr dynamic{};
  Elf64_Phdr unwind{};
  std::vector<Elf64_Dyn> entries;
  std::vector<std::uint32_t> words;  // of the hash table

 private:
  std::vector<std::byte> bytes_;
};

// Counts the reads: a search is bounded by its number of reads, not by the time
// that a busy machine takes for it.
class CountingMemory final : public MemoryReader {
 public:
  explicit CountingMemory(std::vector<std::byte> bytes) {
    memory_.add(kBase, std::move(bytes));
  }
  Status read(Address from, std::span<std::byte> out) const override {
    ++reads_;
    most_ = std::max(most_, out.size());
    return memory_.read(from, out);
  }
  int reads() const { return reads_; }
  std::size_t most() const { return most_; }  // bytes read at once

 private:
  FakeMemory memory_;
  mutable int reads_ = 0;
  mutable std::size_t most_ = 0;
};

// A symbol's address; 0: it is not found, or the image cannot be read.
std::uint64_t look_up(const CountingMemory& memory, std::string_view name) {
  const auto image = ElfImage::read(memory, kBase);
  if (!image) {
    return 0;
  }
  const auto found = image->find(memory, name);
  return found ? found->address.value : 0;
}

std::uint64_t look_up(FakeImage& image, std::string_view name) {
  return look_up(CountingMemory(image.bytes()), name);
}

const std::vector<FakeSymbol> kThree = {{"printf", 0x1110},
                                        {"exit", 0x2220},
                                        {"syscall", 0x3330}};

class EitherHash : public testing::TestWithParam<Hash> {};

TEST_P(EitherHash, FindsWhatIsThere) {
  for (const bool relocated : {true, false}) {
    FakeImage image(GetParam(), kThree, relocated);
    EXPECT_EQ(look_up(image, "printf"), kBase.value + 0x1110);
    EXPECT_EQ(look_up(image, "exit"), kBase.value + 0x2220);
    EXPECT_EQ(look_up(image, "syscall"), kBase.value + 0x3330);
    EXPECT_EQ(look_up(image, "print"), 0);
    EXPECT_EQ(look_up(image, "printff"), 0);
    EXPECT_EQ(look_up(image, ""), 0);
  }
}

TEST_P(EitherHash, AnUndefinedSymbolIsNotThere) {
  FakeImage image(GetParam(), {{"printf", 0x1110, false, false}});
  EXPECT_EQ(look_up(image, "printf"), 0);
}

TEST_P(EitherHash, TheDefaultVersionWins) {
  FakeImage old_first(GetParam(),
                      {{"exit", 1, true}, {"exit", 2}, {"exit", 3, true}});
  EXPECT_EQ(look_up(old_first, "exit"), kBase.value + 2);
  FakeImage only_old(GetParam(), {{"exit", 1, true}, {"printf", 2}});
  EXPECT_EQ(look_up(only_old, "exit"), kBase.value + 1);
}

TEST_P(EitherHash, SegmentsAndBias) {
  FakeImage fake(GetParam(), kThree);
  fake.load.p_vaddr = 0x40'0000;  // linked to another place than loaded to
  fake.dynamic.p_vaddr += 0x40'0000;
  fake.unwind.p_vaddr += 0x40'0000;
  const CountingMemory memory(fake.bytes());
  const auto image = ElfImage::read(memory, kBase);
  ASSERT_TRUE(image) << image.error().text();
  EXPECT_EQ(image->bias(), kBase.value - 0x40'0000);
  ASSERT_EQ(image->text().size(), 1);
  EXPECT_EQ(image->text()[0].start, kBase);
  EXPECT_EQ(image->text()[0].end, kBase + kSize);
  EXPECT_EQ(image->eh_frame_hdr().start, kBase + 0x3000);
  EXPECT_EQ(image->eh_frame_hdr().end, kBase + 0x3040);
  EXPECT_EQ(image->find(memory, "exit")->address, kBase + 0x2220 - 0x40'0000);
}

// Everything is bounded, whatever the image claims.
void expect_bounded(FakeImage& image, const char* what) {
  const CountingMemory memory(image.bytes());
  look_up(memory, "printf");
  look_up(memory, "nobody");
  EXPECT_LE(memory.reads(), 40'000) << what;
  EXPECT_LE(memory.most(), 64 * 1024) << what;
}

TEST_P(EitherHash, SizesOfTwoToThe60) {
  const auto spoil = [](const char* what, auto spoiling) {
    FakeImage image(GetParam(), kThree);
    spoiling(image);
    expect_bounded(image, what);
  };
  spoil("e_phoff", [](FakeImage& image) { image.header.e_phoff = kHuge; });
  spoil("e_phnum", [](FakeImage& image) { image.header.e_phnum = 0xffff; });
  spoil("p_memsz", [](FakeImage& image) { image.load.p_memsz = kHuge; });
  spoil("p_vaddr", [](FakeImage& image) { image.load.p_vaddr = kHuge; });
  spoil("dynamic", [](FakeImage& image) { image.dynamic.p_memsz = kHuge; });
  spoil("no dynamic", [](FakeImage& image) { image.dynamic.p_memsz = 0; });
  spoil("DT_STRSZ", [](FakeImage& image) { image.set(DT_STRSZ, kHuge); });
  spoil("DT_SYMTAB", [](FakeImage& image) { image.set(DT_SYMTAB, kHuge); });
  spoil("DT_STRTAB", [](FakeImage& image) { image.set(DT_STRTAB, ~0ULL); });
  spoil("hash", [](FakeImage& image) {
    image.entries[4].d_un.d_val = ~std::uint64_t{0};
  });
  for (std::size_t word = 0; word < 4; ++word) {
    for (const std::uint32_t value : {0U, 0x7fff'ffffU, 0xffff'ffffU}) {
      spoil("hash head", [&](FakeImage& image) { image.words[word] = value; });
    }
  }
}

TEST_P(EitherHash, ATablesLieDoesNotMakeItsNeighboursWrong) {
  FakeImage image(GetParam(), kThree);
  image.set(DT_STRSZ, kHuge);
  EXPECT_EQ(look_up(image, "exit"), kBase.value + 0x2220);
  image.set(DT_STRSZ, 1);  // then no name lies within
  EXPECT_EQ(look_up(image, "exit"), 0);
}

TEST_P(EitherHash, AChainWithoutAnEndComesToOne) {
  FakeImage image(GetParam(), kThree);
  if (GetParam() == Hash::Sysv) {
    image.words[6] = 2;  // behind symbol 3 comes symbol 2 again
    image.words[1] = 0xffff;
  } else {
    image.words.resize(7);
    image.words.resize(12'000, kGnuHash.at("exit") & ~1U);
  }
  const CountingMemory memory(image.bytes());
  EXPECT_EQ(look_up(memory, "nobody"), 0);
  EXPECT_GT(memory.reads(), 4000);
  EXPECT_LE(memory.reads(), 20'000);
}

TEST_P(EitherHash, CutOffAnywhere) {
  FakeImage image(GetParam(), kThree);
  const auto whole = image.bytes();
  for (std::size_t size = 0; size < 0x1000; size += 7) {
    const CountingMemory memory({whole.begin(), whole.begin() + size});
    const auto found = look_up(memory, "syscall");
    EXPECT_TRUE(found == 0 || found == kBase.value + 0x3330) << size;
    EXPECT_LE(memory.reads(), 100) << size;
  }
}

TEST_P(EitherHash, RandomDamageIsBounded) {
  std::mt19937_64 random(20240521);
  const auto whole = FakeImage(GetParam(), kThree).bytes();
  for (int round = 0; round < 3000; ++round) {
    auto damaged = whole;
    for (int i = 0; i < 4; ++i) {
      damaged[random() % 0xd00] = static_cast<std::byte>(random());
    }
    const CountingMemory memory(damaged);
    look_up(memory, "exit");
    look_up(memory, "nobody");
    ASSERT_LE(memory.reads(), 40'000) << "round " << round;
    ASSERT_LE(memory.most(), 64 * 1024) << "round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(Images,
                         EitherHash,
                         testing::Values(Hash::Gnu, Hash::Sysv),
                         [](const auto& info) {
                           return info.param == Hash::Gnu ? "Gnu" : "Sysv";
                         });

ErrorId refusal(FakeImage& image) {
  const CountingMemory memory(image.bytes());
  const auto read = ElfImage::read(memory, kBase);
  return read ? ErrorId::System : read.error().id;
}

TEST(ElfImage, RefusesWhatItCannotRead) {
  FakeImage image(Hash::Gnu, kThree);
  image.header.e_ident[EI_CLASS] = ELFCLASS32;
  EXPECT_EQ(refusal(image), ErrorId::Wrong32Bit);
  image.header.e_ident[1] = 'X';
  EXPECT_EQ(refusal(image), ErrorId::Unreadable);
  image = FakeImage(Hash::Gnu, kThree);
  image.load.p_type = PT_NULL;
  EXPECT_EQ(refusal(image), ErrorId::Unreadable);
  image = FakeImage(Hash::Gnu, kThree);
  image.header.e_phentsize = 1;
  EXPECT_EQ(refusal(image), ErrorId::Unreadable);
}

TEST(ElfImage, WithoutAHashTableHasNoSymbols) {
  FakeImage image(Hash::Gnu, kThree);
  image.entries[4].d_tag = DT_DEBUG;
  EXPECT_EQ(look_up(image, "exit"), 0);
}

// This process's own libc, compared with the loader.
class OwnLibc : public testing::Test {
 protected:
  void SetUp() override {
    libc_ = ::dlopen("libc.so.6", RTLD_NOLOAD | RTLD_NOW);
    if (libc_ == nullptr) {
      GTEST_SKIP() << "no glibc here: " << ::dlerror();
    }
    const Address inside{loader_says("malloc")};
    for (const Module& module : find_modules(read_maps(::getpid()).value())) {
      if (module.contains(inside)) {
        image_ = ElfImage::read(memory_, module.base);
      }
    }
    ASSERT_TRUE(image_) << image_.error().text();
  }

  std::uint64_t loader_says(const char* name) const {
    return reinterpret_cast<std::uintptr_t>(::dlsym(libc_, name));
  }
  std::uint64_t loader_says(const char* name, const char* version) const {
    return reinterpret_cast<std::uintptr_t>(::dlvsym(libc_, name, version));
  }
  std::optional<Symbol> find(std::string_view name) const {
    return image_->find(memory_, name);
  }

  void* libc_ = nullptr;
  LiveMemory memory_{::getpid()};
  Result<ElfImage> image_ = fail(ErrorId::Unreadable, "libc is not mapped");
};

TEST_F(OwnLibc, WhereTheLoaderFindsThem) {
  for (const char* const name :
       {"malloc", "free", "getenv", "munmap", "environ"}) {
    const auto found = find(name);
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(found->address.value, loader_says(name)) << name;
    EXPECT_GT(found->size, 0) << name;
  }
}

TEST_F(OwnLibc, NotThere) {
  for (const char* const name :
       {"", "not_there", "mallo", "mallocc", "PyGILState_Ensure"}) {
    EXPECT_FALSE(find(name)) << name;
  }
}

TEST_F(OwnLibc, TheDefaultVersion) {
  const auto old_one = loader_says("pthread_cond_wait", "GLIBC_2.2.5");
  const auto new_one = loader_says("pthread_cond_wait", "GLIBC_2.3.2");
  if (old_one == 0 || new_one == 0 || old_one == new_one) {
    GTEST_SKIP() << "this libc has but one pthread_cond_wait";
  }
  EXPECT_EQ(find("pthread_cond_wait")->address.value, new_one);
}

TEST_F(OwnLibc, TheFunctionAtAnAddress) {
  for (const char* const name : {"getenv", "qsort_r"}) {
    const Symbol symbol = find(name).value();
    EXPECT_EQ(image_->function_at(memory_, symbol.address), name);
    EXPECT_EQ(image_->function_at(memory_, symbol.address + symbol.size - 1),
              name);
  }
  EXPECT_FALSE(image_->function_at(memory_, find("environ")->address));
  EXPECT_FALSE(image_->function_at(memory_, Address{0x1000}));
}

TEST_F(OwnLibc, ItsCodeIsInItsText) {
  const Address code = find("munmap")->address;
  EXPECT_TRUE(std::ranges::any_of(
      image_->text(),
      [&](const AddressRange& range) { return range.contains(code); }));
  EXPECT_LT(image_->eh_frame_hdr().start, image_->eh_frame_hdr().end);
}

TEST(ElfImage, OfTheVdso) {
  const Address base{::getauxval(AT_SYSINFO_EHDR)};
  if (!base) {
    GTEST_SKIP() << "this kernel gives no vdso";
  }
  const LiveMemory memory(::getpid());
  const auto image = ElfImage::read(memory, base);
  ASSERT_TRUE(image) << image.error().text();
  const auto found = image->find(memory, "__vdso_clock_gettime");
  ASSERT_TRUE(found);
  EXPECT_TRUE(
      std::ranges::any_of(image->text(), [&](const AddressRange& range) {
        return range.contains(found->address);
      }));
}

}  // namespace
}  // namespace hangdbg
