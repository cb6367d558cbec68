// FileSymbols on this process's own program, which exports nothing, and on
// files that are corrupt or belong to another program.
#include "tracee/elf/file_symbols.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/unit/support/processes.h"
#include "tracee/elf/elf_file.h"

namespace hangdbg {
namespace {

[[gnu::used, gnu::noinline]] int known_to_the_file_alone() {
  return 41;
}

class FileSymbolsTest : public testing::Test {
 protected:
  void SetUp() override {
    const Address here{
        reinterpret_cast<std::uint64_t>(&known_to_the_file_alone)};
    for (Module& module : find_modules(read_maps(::getpid()).value())) {
      if (module.contains(here)) {
        module_ = std::move(module);
      }
    }
    image_ = ElfImage::read(memory_, module_.base).value();
  }

  // Without a process of that number, only the path leads to the file.
  Result<FileSymbols> read_by_path(const MemoryReader& memory,
                                   const std::string& path) {
    Module module = module_;
    module.path = path;
    return FileSymbols::read(dead_pid(), memory, module, image_);
  }

  LiveMemory memory_{::getpid()};
  Module module_;
  ElfImage image_;
};

// Of a file, to be changed.
class Copy {
 public:
  explicit Copy(const std::string& path)
      : path_(testing::TempDir() + "copy-" + std::to_string(::getpid())) {
    std::filesystem::copy_file(path, path_);
  }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;
  ~Copy() { std::filesystem::remove(path_); }

  const std::string& path() const { return path_; }

  // Changes the first byte of each place that holds `text`.
  void spoil(const std::string& text) const {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    file.clear();
    for (auto at = bytes.find(text); at != bytes.npos;
         at = bytes.find(text, at + 1)) {
      file.seekp(static_cast<std::streamoff>(at));
      file.put(static_cast<char>(~bytes[at]));
    }
  }

 private:
  std::string path_;
};

// Memory in which no note, and so no build id, can be read.
class WithoutNotes final : public MemoryReader {
 public:
  WithoutNotes(const MemoryReader& under, const ElfImage& image)
      : under_(under), notes_(image.notes()) {}
  Status read(Address from, std::span<std::byte> out) const override {
    const bool is_note = std::ranges::any_of(
        notes_, [&](const AddressRange& note) { return note.contains(from); });
    return is_note ? fail(ErrorId::Unreadable, "a note")
                   : under_.read(from, out);
  }

 private:
  const MemoryReader& under_;
  std::vector<AddressRange> notes_;
};

class WithoutText final : public MemoryReader {
 public:
  WithoutText(const MemoryReader& under, const ElfImage& image)
      : under_(under), text_(image.text()) {}
  Status read(Address from, std::span<std::byte> out) const override {
    const bool is_text = std::ranges::any_of(
        text_, [&](const AddressRange& text) { return text.contains(from); });
    return is_text ? fail(ErrorId::Unreadable, "code") : under_.read(from, out);
  }

 private:
  const MemoryReader& under_;
  std::vector<AddressRange> text_;
};

constexpr const char* kName =
    "_ZN7hangdbg12_GLOBAL__N_123known_to_the_file_aloneEv";

TEST_F(FileSymbolsTest, FindsWhatIsNotExported) {
  EXPECT_FALSE(image_.find(memory_, kName));
  const auto symbols = FileSymbols::read(::getpid(), memory_, module_, image_);
  ASSERT_TRUE(symbols) << symbols.error().text();
  const auto found = symbols->find(kName);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->address.value,
            reinterpret_cast<std::uint64_t>(&known_to_the_file_alone));
  EXPECT_GT(found->size, 0u);
  EXPECT_EQ(symbols->function_at(found->address), kName);
  EXPECT_EQ(symbols->function_at(found->address + (found->size - 1)), kName);
  EXPECT_NE(symbols->function_at(found->address + found->size), kName);
  EXPECT_FALSE(symbols->function_at(Address{1}));
  EXPECT_FALSE(symbols->find(std::string_view(kName).substr(1)));
  EXPECT_FALSE(symbols->find("no_such_name"));
}

TEST_F(FileSymbolsTest, TakesNoOtherFile) {
  EXPECT_TRUE(read_by_path(memory_, module_.path));
  EXPECT_FALSE(read_by_path(memory_, "/no/such/file"));
  EXPECT_FALSE(read_by_path(memory_, "/dev/zero"));
}

TEST_F(FileSymbolsTest, TakesNoOtherBuild) {
  const auto file = open_file(module_.path).value();
  const auto id = ElfFile::read(file).value().build_id();
  if (id.empty()) {
    GTEST_SKIP() << "the linker here makes no build ids";
  }
  const Copy copy(module_.path);
  EXPECT_TRUE(read_by_path(memory_, copy.path()));
  copy.spoil(std::string(reinterpret_cast<const char*>(id.data()), id.size()));
  EXPECT_FALSE(read_by_path(memory_, copy.path()));
}

TEST_F(FileSymbolsTest, TakesNoOtherCodeWhereThereIsNoBuildId) {
  const WithoutNotes memory(memory_, image_);
  const Copy copy(module_.path);
  EXPECT_TRUE(read_by_path(memory, copy.path()));
  copy.spoil(
      std::string(reinterpret_cast<const char*>(&known_to_the_file_alone), 16));
  EXPECT_FALSE(read_by_path(memory, copy.path()));
}

// Neither notes nor code can be read: the mapping is proof enough.
TEST_F(FileSymbolsTest, TakesTheMappedFileItself) {
  if (!open_file(module_.path)->is_of(module_.segments.front())) {
    GTEST_SKIP() << "the file system tells another device in /proc/PID/maps";
  }
  const WithoutNotes no_notes(memory_, image_);
  const WithoutText memory(no_notes, image_);
  EXPECT_TRUE(FileSymbols::read(::getpid(), memory, module_, image_));
  const Copy copy(module_.path);
  EXPECT_FALSE(read_by_path(memory, copy.path()));
}

TEST(ElfFileTest, CompressedSectionsThatLie) {
  struct {
    Elf64_Ehdr header{};
    Elf64_Shdr sections[2]{};
    char names[16] = "\0.debug_line";
    Elf64_Chdr head{};
    std::byte packed[16]{};
  } file;
  std::memcpy(file.header.e_ident, ELFMAG, SELFMAG);
  file.header.e_ident[EI_CLASS] = ELFCLASS64;
  file.header.e_shoff = sizeof file.header;
  file.header.e_shnum = 2;
  file.header.e_shentsize = sizeof(Elf64_Shdr);
  file.sections[0].sh_offset = sizeof file.header + sizeof file.sections;
  file.sections[0].sh_size = sizeof file.names;
  file.sections[1].sh_name = 1;
  file.sections[1].sh_flags = SHF_COMPRESSED;
  file.sections[1].sh_offset = file.sections[0].sh_offset + sizeof file.names;
  for (const std::uint32_t type : {1U, 2U, 3U}) {
    for (const std::uint64_t size : {0ULL, 16ULL, 1ULL << 60}) {
      for (const std::uint64_t content : {0UL, 8UL, sizeof file.head + 16}) {
        file.head.ch_type = type;
        file.head.ch_size = size;
        file.sections[1].sh_size = content;
        FakeMemory bytes;
        const auto* from = reinterpret_cast<const std::byte*>(&file);
        bytes.add(Address{}, {from, from + sizeof file});
        const auto elf = ElfFile::read(bytes);
        ASSERT_TRUE(elf) << elf.error().text();
        EXPECT_FALSE(elf->section(".debug_line"));
      }
    }
  }
}

TEST(ElfFileTest, SizesThatLie) {
  struct {
    Elf64_Ehdr header{};
    Elf64_Shdr sections[2]{};
    char names[16] = "\0.symtab";
  } file;
  std::memcpy(file.header.e_ident, ELFMAG, SELFMAG);
  file.header.e_ident[EI_CLASS] = ELFCLASS64;
  file.header.e_shoff = sizeof file.header;
  file.header.e_shnum = 2;
  file.header.e_shentsize = sizeof(Elf64_Shdr);
  file.sections[0].sh_offset = sizeof file.header + sizeof file.sections;
  file.sections[0].sh_size = sizeof file.names;
  file.sections[1].sh_name = 1;
  file.sections[1].sh_size = 8;

  const auto read_symbols = [&]() -> Result<std::vector<std::byte>> {
    FakeMemory memory;
    const auto bytes = std::as_bytes(std::span(&file, 1));
    memory.add(Address{}, {bytes.begin(), bytes.end()});
    return TRY(ElfFile::read(memory)).section(".symtab");
  };
  EXPECT_TRUE(read_symbols());
  file.sections[1].sh_size = std::uint64_t{1} << 60;
  EXPECT_FALSE(read_symbols());
  file.sections[1].sh_size = sizeof file + 1;
  EXPECT_FALSE(read_symbols());
  file.sections[1].sh_size = 8;
  file.sections[1].sh_name = 0xffffffff;
  EXPECT_FALSE(read_symbols());
  file.sections[1].sh_name = 1;
  file.header.e_shstrndx = 2;
  EXPECT_FALSE(read_symbols());
  file.header.e_shstrndx = 0;
  file.header.e_shnum = 0xffff;
  EXPECT_FALSE(read_symbols());
}

TEST(ElfFileTest, BuildIdAmongOtherNotes) {
  struct {
    Elf64_Nhdr other{4, 5, NT_GNU_ABI_TAG};
    char other_name[4] = "GNU";
    char other_content[8] = "abcd";
    Elf64_Nhdr id{4, 2, NT_GNU_BUILD_ID};
    char id_name[4] = "GNU";
    unsigned char id_content[4] = {0xab, 0xcd};
  } notes;
  const auto bytes = std::as_bytes(std::span(&notes, 1));
  EXPECT_EQ(build_id_in(bytes),
            (std::vector{std::byte{0xab}, std::byte{0xcd}}));
  notes.id.n_descsz = 0xffffffff;
  EXPECT_TRUE(build_id_in(bytes).empty());
  notes.other.n_namesz = 0xfffffffd;
  EXPECT_TRUE(build_id_in(bytes).empty());
}

}  // namespace
}  // namespace hangdbg
