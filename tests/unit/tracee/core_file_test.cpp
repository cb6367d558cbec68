// Hand-made core files: complete, truncated, and files that are no core files.
// Those of real interpreters: tests/integration/look/test_core.py.
#include "tracee/elf/core_file.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/procfs.h>
#include <zlib.h>
#include <zstd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/unit/support/processes.h"

namespace hangdbg {
namespace {

using Bytes = std::vector<std::byte>;

template <class T>
Bytes bytes_of(const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  return {bytes.begin(), bytes.end()};
}

void append(Bytes& to, const Bytes& more) {
  to.insert(to.end(), more.begin(), more.end());
}

Bytes note(std::uint32_t type, const Bytes& content) {
  Bytes bytes =
      bytes_of(Elf64_Nhdr{5, static_cast<Elf64_Word>(content.size()), type});
  append(bytes, bytes_of(std::array<char, 8>{"CORE"}));
  append(bytes, content);
  bytes.resize((bytes.size() + 3) & ~3ULL);
  return bytes;
}

Bytes some_notes() {
  elf_prstatus first{};
  first.pr_pid = 71;
  first.pr_cursig = SIGSEGV;
  first.pr_reg[16] = 0x1234;  // rip
  elf_prstatus second{};
  second.pr_pid = 70;
  elf_prpsinfo info{};
  info.pr_pid = 70;
  std::strcpy(info.pr_fname, "train");
  std::strcpy(info.pr_psargs, "python train.py ");
  siginfo_t signal{};
  signal.si_signo = SIGSEGV;
  signal.si_code = SEGV_MAPERR;
  signal.si_addr = reinterpret_cast<void*>(8);
  Bytes files =
      bytes_of(std::array<std::uint64_t, 5>{1, 4096, 0x10000, 0x12000, 2});
  append(files, bytes_of(std::array<char, 9>{"/bin/app"}));
  Bytes notes = note(NT_PRSTATUS, bytes_of(first));
  append(notes, note(NT_PRPSINFO, bytes_of(info)));
  append(notes, note(NT_SIGINFO, bytes_of(signal)));
  append(notes, note(NT_FILE, files));
  append(notes, note(NT_PRSTATUS, bytes_of(second)));
  return notes;
}

TEST(CoreNotes, TellOfThreadsAndTheSignal) {
  const auto notes = parse_core_notes(some_notes());
  ASSERT_TRUE(notes) << notes.error().text();
  EXPECT_EQ(notes->pid, 70);
  EXPECT_EQ(notes->program, "train");
  EXPECT_EQ(notes->arguments, "python train.py");
  ASSERT_EQ(notes->threads.size(), 2);
  EXPECT_EQ(notes->threads[0].tid, 71);
  EXPECT_EQ(notes->threads[0].registers.rip, 0x1234);
  ASSERT_TRUE(notes->signal);
  EXPECT_EQ(notes->signal->number, SIGSEGV);
  EXPECT_EQ(notes->signal->address, Address{8});
  EXPECT_FALSE(notes->signal->sender);
  ASSERT_EQ(notes->files.size(), 1);
  EXPECT_EQ(notes->files[0].path, "/bin/app");
  EXPECT_EQ(notes->files[0].offset, 8192);
}

TEST(CoreNotes, CutAnywhere) {
  const Bytes notes = some_notes();
  for (std::size_t size = 0; size < notes.size(); ++size) {
    // A copy that ends there, for the sanitizer to watch.
    const Bytes cut(notes.begin(),
                    notes.begin() + static_cast<std::ptrdiff_t>(size));
    const auto parsed = parse_core_notes(cut);
    EXPECT_TRUE(parsed || parsed.error().id == ErrorId::Unreadable);
  }
}

TEST(CoreNotes, FilesThatClaimToBeMany) {
  Bytes files = bytes_of(std::array<std::uint64_t, 3>{~0ULL, 4096, 1});
  Bytes notes = some_notes();
  append(notes, note(NT_FILE, files));
  const auto parsed = parse_core_notes(notes);
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->files.empty());
}

TEST(PiecedMemory, FirstCounts) {
  const auto bytes = [](char letter) {
    auto memory = std::make_shared<FakeMemory>();
    memory->add(Address{}, Bytes(64, std::byte(letter)));
    return memory;
  };
  PiecedMemory memory;
  memory.add(Address{110}, 10, bytes('a'), 0);
  memory.add(Address{130}, 10, bytes('b'), 0);
  memory.add(Address{100}, 50, bytes('c'), 0);
  std::string text(50, '?');
  ASSERT_TRUE(
      memory.read(Address{100}, std::as_writable_bytes(std::span(text))));
  EXPECT_EQ(text, std::string(10, 'c') + std::string(10, 'a') +
                      std::string(10, 'c') + std::string(10, 'b') +
                      std::string(10, 'c'));
  EXPECT_FALSE(memory.read_value<char>(Address{99}));
  EXPECT_FALSE(memory.read_value<char>(Address{150}));
  EXPECT_FALSE(memory.read_value<std::uint64_t>(Address{146}));
}

class CoreFiles : public testing::Test {
 protected:
  CoreFiles() {
    std::string name =
        (std::filesystem::temp_directory_path() / "core-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~CoreFiles() override { std::filesystem::remove_all(folder_); }

  std::string write(const Bytes& bytes) {
    std::ofstream(folder_ / "core", std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return (folder_ / "core").string();
  }

  // One mapping at 0x10000, 4096 bytes of 'x'.
  static Bytes plain() {
    const Bytes notes = some_notes();
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_type = ET_CORE;
    header.e_machine = EM_X86_64;
    header.e_phoff = sizeof header;
    header.e_phnum = 2;
    header.e_phentsize = sizeof(Elf64_Phdr);
    constexpr std::uint64_t kHead = sizeof header + 2 * sizeof(Elf64_Phdr);
    Bytes bytes = bytes_of(header);
    append(bytes, bytes_of(Elf64_Phdr{.p_type = PT_NOTE,
                                      .p_offset = kHead,
                                      .p_filesz = notes.size()}));
    append(bytes, bytes_of(Elf64_Phdr{.p_type = PT_LOAD,
                                      .p_flags = PF_R,
                                      .p_offset = kHead + notes.size(),
                                      .p_vaddr = 0x10000,
                                      .p_filesz = 4096,
                                      .p_memsz = 8192}));
    append(bytes, notes);
    bytes.resize(bytes.size() + 4096, std::byte('x'));
    return bytes;
  }

  std::filesystem::path folder_;
};

void expect_whole(const Result<CoreFile>& core) {
  ASSERT_TRUE(core) << core.error().text();
  EXPECT_EQ(core->missing, 0);
  EXPECT_EQ(core->memory.read_value<char>(Address{0x10fff}).value(), 'x');
  EXPECT_FALSE(core->memory.read_value<char>(Address{0x11000}));
  ASSERT_EQ(core->maps.size(), 1);
  EXPECT_EQ(core->maps[0].path, "/bin/app");
  EXPECT_EQ(core->maps[0].end, Address{0x12000});
}

TEST_F(CoreFiles, Plain) {
  expect_whole(CoreFile::open(write(plain()), {}));
}

TEST_F(CoreFiles, Gzip) {
  const Bytes bytes = plain();
  const std::string path = (folder_ / "core.gz").string();
  const gzFile file = ::gzopen(path.c_str(), "wb");
  ASSERT_EQ(::gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())),
            static_cast<int>(bytes.size()));
  ::gzclose(file);
  expect_whole(CoreFile::open(path, {}));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 10);
  const auto cut = CoreFile::open(path, {});
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().id, ErrorId::Unreadable);
}

TEST_F(CoreFiles, Zstd) {
  const Bytes bytes = plain();
  Bytes packed(::ZSTD_compressBound(bytes.size()));
  packed.resize(::ZSTD_compress(packed.data(), packed.size(), bytes.data(),
                                bytes.size(), 3));
  expect_whole(CoreFile::open(write(packed), {}));
  packed.resize(packed.size() - 10);
  const auto cut = CoreFile::open(write(packed), {});
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().id, ErrorId::Unreadable);
}

TEST_F(CoreFiles, CutOff) {
  Bytes bytes = plain();
  bytes.resize(bytes.size() - 4000);
  const auto core = CoreFile::open(write(bytes), {});
  ASSERT_TRUE(core) << core.error().text();
  EXPECT_EQ(core->missing, 4000);
  EXPECT_EQ(core->memory.read_value<char>(Address{0x10000}).value(), 'x');
  EXPECT_FALSE(core->memory.read_value<char>(Address{0x10100}));
  for (const std::size_t size : {0, 1, 63, 64, 100, 180}) {
    bytes.resize(size);
    const auto none = CoreFile::open(write(bytes), {});
    ASSERT_FALSE(none) << size;
    EXPECT_TRUE(none.error().id == ErrorId::Usage ||
                none.error().id == ErrorId::Unreadable);
  }
}

TEST_F(CoreFiles, OtherFiles) {
  for (const std::string& path :
       {std::string("/bin/true"), std::string("/etc/passwd"),
        std::string("/dev/null"), std::string("/"), folder_.string() + "/no"}) {
    const auto core = CoreFile::open(path, {});
    ASSERT_FALSE(core) << path;
    EXPECT_EQ(core.error().id, ErrorId::Usage) << path;
  }
}

}  // namespace
}  // namespace hangdbg
