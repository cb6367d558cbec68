// The text of /proc/PID/stat, and that of this process.
#include "tracee/proc/process_stat.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hangdbg {
namespace {

TEST(ProcessStat, OfAZombieWithAHostileName) {
  const auto stat = parse_process_stat(
      "42 (a) Z 1 (b) Z 1 42 42 0 -1 4228108 0 0 0 0 7 5 0 0 20 0 1 0 71642 0 "
      "0 18446744073709551615 0 0 0 0 0 0 0 4096 0 0 0 0 17 1 0 0 0 0 0 0 0 0 "
      "0 0 0 0 9\n");
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->cpu_ticks, 12U);
  EXPECT_EQ(stat->start_ticks, 71642U);
  EXPECT_EQ(stat->exit_status, 9);
}

TEST(ProcessStat, OfWhatIsNone) {
  EXPECT_FALSE(parse_process_stat(""));
  EXPECT_FALSE(parse_process_stat("42 (sleep) S 1 2"));
}

TEST(ProcessStat, OfAChildThatHasEnded) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(3);
  }
  siginfo_t ended{};
  ASSERT_EQ(
      ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  const auto stat = read_process_stat(child);
  ASSERT_TRUE(stat);
  EXPECT_EQ(WEXITSTATUS(stat->exit_status), 3);
  EXPECT_GT(stat->start_ticks, 0U);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(read_process_stat(child));
}

}  // namespace
}  // namespace hangdbg
