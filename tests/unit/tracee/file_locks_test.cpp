// /proc/locks and mountinfo, parsed.
#include "tracee/proc/file_locks.h"

#include <gtest/gtest.h>

#include "tracee/proc/mounts.h"

namespace hangdbg {
namespace {

TEST(FileLocks, HeldAndAwaited) {
  const auto locks = parse_file_locks(
      "1: FLOCK  ADVISORY  WRITE 4242 fe:01:1179650 0 EOF\n"
      "1: -> FLOCK  ADVISORY  WRITE 4343 fe:01:1179650 0 EOF\n"
      "2: POSIX  ADVISORY  READ  -1 00:1a:7 5 14\n"
      "no lock at all\n");
  ASSERT_EQ(locks.size(), 3);
  EXPECT_EQ(locks[0].pid, 4242);
  EXPECT_FALSE(locks[0].waits);
  EXPECT_EQ(locks[0].major, 0xfe);
  EXPECT_EQ(locks[0].inode, 1179650);
  EXPECT_FALSE(locks[0].end);
  EXPECT_TRUE(locks[1].waits);
  EXPECT_EQ(locks[1].number, locks[0].number);
  EXPECT_EQ(locks[2].end, 14);
  EXPECT_FALSE(locks[2].write);
}

TEST(Mounts, OptionalFieldsAndEscapes) {
  const auto mounts = parse_mounts(
      "36 35 98:0 / / rw,noatime master:1 - ext3 /dev/root rw\n"
      "37 36 0:44 / /mnt/a\\040b rw - fuse.sshfs host:/x rw\n"
      "nothing\n");
  ASSERT_EQ(mounts.size(), 2);
  EXPECT_EQ(mounts[0].type, "ext3");
  EXPECT_EQ(mounts[0].source, "/dev/root");
  EXPECT_EQ(mounts[1].point, "/mnt/a b");
  EXPECT_EQ(mounts[1].type, "fuse.sshfs");
}

}  // namespace
}  // namespace hangdbg
