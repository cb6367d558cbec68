#include "tracee/proc/proc_maps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <filesystem>

#include "tests/unit/support/processes.h"

namespace hangdbg {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(ParseMaps, EveryField) {
  const auto maps = parse_maps(
      "55d0a000-55d0c000 r-xp 00001000 08:01 1234      /usr/bin/python3\n"
      "7f000000-7f001000 rw-s 0000f000 fd:1f 99 /dev/shm/x\n");
  ASSERT_THAT(maps, SizeIs(2));
  EXPECT_EQ(maps[0].start, Address{0x55d0a000});
  EXPECT_EQ(maps[0].end, Address{0x55d0c000});
  EXPECT_TRUE(maps[0].readable);
  EXPECT_FALSE(maps[0].writable);
  EXPECT_TRUE(maps[0].executable);
  EXPECT_FALSE(maps[0].shared);
  EXPECT_EQ(maps[0].offset, 0x1000);
  EXPECT_EQ(maps[0].device, makedev(8, 1));
  EXPECT_EQ(maps[0].inode, 1234);
  EXPECT_EQ(maps[0].path, "/usr/bin/python3");
  EXPECT_TRUE(maps[1].writable);
  EXPECT_TRUE(maps[1].shared);
  EXPECT_FALSE(maps[1].executable);
  EXPECT_EQ(maps[1].offset, 0xf000);
}

TEST(ParseMaps, PathsAsTheyCome) {
  const auto path_of = [](const std::string& path) {
    const auto maps = parse_maps("1000-2000 r-xp 00000000 08:01 7 " + path);
    return maps.size() == 1 ? maps[0].path : "not one mapping";
  };
  EXPECT_EQ(path_of(""), "");
  EXPECT_EQ(path_of("       /lib/x.so"), "/lib/x.so");
  EXPECT_EQ(path_of("/a b/c  d.so"), "/a b/c  d.so");
  EXPECT_EQ(path_of("/lib/x.so (deleted)"), "/lib/x.so (deleted)");
  EXPECT_EQ(path_of("/a\\012b"), "/a\\012b");  // the kernel's own escape
  EXPECT_EQ(path_of("\xff\xfe"), "\xff\xfe");
  EXPECT_EQ(path_of("1000-2000 r-xp 0 0:0 0 /x"), "1000-2000 r-xp 0 0:0 0 /x");
  EXPECT_EQ(path_of("[anon:glibc: malloc]"), "[anon:glibc: malloc]");
}

TEST(ParseMaps, WithoutAPathAndTheHighestAddress) {
  const auto maps = parse_maps(
      "1000-2000 ---p 00000000 00:00 0 \n"
      "2000-3000 rw-p 00000000 00:00 0\n"
      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0   [vsyscall]");
  ASSERT_THAT(maps, SizeIs(3));
  EXPECT_EQ(maps[0].path, "");
  EXPECT_FALSE(maps[0].readable);
  EXPECT_EQ(maps[1].path, "");
  EXPECT_EQ(maps[2].start, Address{0xffffffffff600000});
  EXPECT_TRUE(maps[2].executable);
}

TEST(ParseMaps, LinesThatMakeNoSenseAreSkipped) {
  for (const std::string line : {
           "",
           "\n\n",
           "garbage",
           "1000",
           "1000-",
           "1000-2000",
           "1000-2000 ",
           "1000-2000 r-xp",
           "1000-2000 r-xp ",
           "1000-2000 r-xp 0",
           "1000-2000 r-xp 0 08:01",
           "1000-2000 r-xp 0 08:01 ",
           "1000-2000 r-xp 0 0801 7 /x",
           "1000 2000 r-xp 0 08:01 7 /x",
           "x000-2000 r-xp 0 08:01 7 /x",
           "-2000 r-xp 0 08:01 7 /x",
           " 1000-2000 r-xp 0 08:01 7 /x",
           "10000000000000000-2000 r-xp 0 08:01 7 /x",
           "1000-2000 r-xp 0 08:01 99999999999999999999 /x",
       }) {
    EXPECT_THAT(parse_maps(line), IsEmpty()) << line;
    EXPECT_THAT(parse_maps(line + "\n3000-4000 r--p 0 08:01 7 /y\n"), SizeIs(1))
        << line;
  }
}

std::vector<std::string> paths(const std::vector<Module>& modules) {
  std::vector<std::string> found;
  for (const Module& module : modules) {
    found.push_back(module.path);
  }
  return found;
}

TEST(FindModules, SegmentsWithAGapAreOneModule) {
  const auto modules =
      find_modules(parse_maps("10000-11000 r--p 00000000 08:01 7 /lib/a.so\n"
                              "11000-12000 r-xp 00001000 08:01 7 /lib/a.so\n"
                              "20000-21000 rw-p 00002000 08:01 7 /lib/a.so\n"
                              "21000-29000 rw-p 00000000 00:00 0 \n"));
  ASSERT_THAT(modules, SizeIs(1));
  EXPECT_EQ(modules[0].base, Address{0x10000});
  EXPECT_EQ(modules[0].end, Address{0x21000});  // .bss belongs to no file
  EXPECT_THAT(modules[0].segments, SizeIs(3));
  EXPECT_TRUE(modules[0].contains(Address{0x15000}));
  EXPECT_FALSE(modules[0].contains(Address{0x21000}));
}

TEST(FindModules, AnonymousMemoryInTheGapDoesNotEndIt) {
  const auto modules =
      find_modules(parse_maps("10000-11000 r-xp 00000000 08:01 7 /lib/a.so\n"
                              "12000-13000 rw-p 00000000 00:00 0 [anon:x]\n"
                              "20000-21000 rw-p 00002000 08:01 7 /lib/a.so\n"));
  ASSERT_THAT(modules, SizeIs(1));
  EXPECT_THAT(modules[0].segments, SizeIs(2));
}

TEST(FindModules, DeletedFilesKeepTheirMark) {
  const auto modules = find_modules(
      parse_maps("10000-11000 r--p 00000000 08:01 7 /lib/a.so (deleted)\n"
                 "11000-12000 r-xp 00001000 08:01 7 /lib/a.so (deleted)\n"
                 "12000-13000 r-xp 00000000 08:01 8 /lib/a.so\n"));
  EXPECT_THAT(paths(modules), ElementsAre("/lib/a.so (deleted)", "/lib/a.so"));
  EXPECT_EQ(modules[0].end, Address{0x12000});
}

TEST(FindModules, TheVdsoIsOneAndOtherSpecialsAreNot) {
  const auto modules = find_modules(parse_maps(
      "10000-11000 r--p 00000000 00:00 0 [vvar]\n"
      "11000-12000 r-xp 00000000 00:00 0 [vdso]\n"
      "20000-21000 rwxp 00000000 00:00 0 [stack]\n"
      "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n"));
  ASSERT_THAT(modules, SizeIs(1));
  EXPECT_EQ(modules[0].path, "[vdso]");
  EXPECT_EQ(modules[0].base, Address{0x11000});
  EXPECT_EQ(modules[0].end, Address{0x12000});
}

TEST(FindModules, FilesWithoutCodeAreNone) {
  const auto modules = find_modules(parse_maps(
      "10000-11000 r--p 00000000 08:01 9 /usr/lib/locale/locale-archive\n"
      "30000-31000 r-xp 00001000 08:01 7 /lib/without-a-start.so\n"));
  EXPECT_THAT(modules, IsEmpty());
}

TEST(FindModules, LoadedTwiceIsTwo) {
  const auto modules =
      find_modules(parse_maps("10000-11000 r-xp 00000000 08:01 7 /lib/a.so\n"
                              "11000-12000 rw-p 00001000 08:01 7 /lib/a.so\n"
                              "50000-51000 r-xp 00000000 08:01 7 /lib/a.so\n"
                              "51000-52000 rw-p 00001000 08:01 7 /lib/a.so\n"));
  ASSERT_THAT(paths(modules), ElementsAre("/lib/a.so", "/lib/a.so"));
  EXPECT_EQ(modules[0].end, Address{0x12000});
  EXPECT_EQ(modules[1].base, Address{0x50000});
}

// A file of less than a page has all its segments at offset 0.
TEST(FindModules, OfOnePageIsOne) {
  const auto modules =
      find_modules(parse_maps("10000-11000 r-xp 00000000 08:01 7 /lib/a.so\n"
                              "11000-12000 rw-p 00000000 08:01 7 /lib/a.so\n"));
  ASSERT_THAT(modules, SizeIs(1));
  EXPECT_THAT(modules[0].segments, SizeIs(2));
}

TEST(ReadMaps, OfThisProcess) {
  const auto maps = read_maps(::getpid());
  ASSERT_TRUE(maps) << maps.error().text();
  EXPECT_TRUE(std::ranges::is_sorted(*maps, {}, &Mapping::start));

  const auto modules = find_modules(*maps);
  const Address code{reinterpret_cast<std::uintptr_t>(&dead_pid)};
  const auto own = std::ranges::find_if(
      modules, [&](const Module& module) { return module.contains(code); });
  ASSERT_NE(own, modules.end());
  EXPECT_EQ(own->path, std::filesystem::read_symlink("/proc/self/exe"));
  if (const auto vdso = ::getauxval(AT_SYSINFO_EHDR); vdso != 0) {
    const auto found = std::ranges::find(modules, "[vdso]", &Module::path);
    ASSERT_NE(found, modules.end());
    EXPECT_EQ(found->base, Address{vdso});
  }
}

TEST(ReadMaps, AFileThatIsGone) {
  const Fd file(::memfd_create("hangdbg-test", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(file.get(), 4096), 0);
  void* const at =
      ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file.get(), 0);
  ASSERT_NE(at, MAP_FAILED);
  const auto maps = read_maps(::getpid());
  ASSERT_TRUE(maps);
  const auto modules = find_modules(*maps);
  const Address address{reinterpret_cast<std::uintptr_t>(at)};
  const auto found = std::ranges::find(modules, address, &Module::base);
  ASSERT_NE(found, modules.end());
  EXPECT_EQ(found->path, "/memfd:hangdbg-test (deleted)");
  ::munmap(at, 4096);
}

TEST(ReadMaps, OfNobody) {
  const auto maps = read_maps(dead_pid());
  ASSERT_FALSE(maps);
  EXPECT_EQ(maps.error().id, ErrorId::NoSuchProcess);
}

}  // namespace
}  // namespace hangdbg
