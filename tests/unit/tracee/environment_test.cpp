// The current variables of a live process, not those of its start.
#include "tracee/program/environment.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "tests/unit/support/processes.h"

namespace hangdbg {
namespace {

// That of NAME in a child that has done `change`.
template <class Change>
std::optional<std::string> named_after(const Change& change) {
  ::setenv("NAME", "stale", 1);
  Pipe pipe;
  const Child child([&] {
    change();
    send(pipe.write, 'r');
    ::pause();
  });
  ::unsetenv("NAME");
  EXPECT_TRUE(receive<char>(pipe.read));
  const auto environment = Environment::read(child.pid());
  const auto found = environment->find("NAME");
  return found ? std::optional<std::string>(*found) : std::nullopt;
}

TEST(EnvironmentTest, AsItIsNow) {
  EXPECT_EQ(named_after([] { ::setenv("NAME", "now", 1); }), "now");
  EXPECT_EQ(named_after([] { ::unsetenv("NAME"); }), std::nullopt);
}

// Then `environ` is NULL.
TEST(EnvironmentTest, Cleared) {
  EXPECT_EQ(named_after([] { ::clearenv(); }), std::nullopt);
}

// A process that hangs before main() has those of its start.
TEST(EnvironmentTest, StillBeingLoaded) {
  const std::string fifo =
      testing::TempDir() + "fifo-" + std::to_string(::getpid());
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const std::string preload = "LD_PRELOAD=" + fifo;
  const Child child([&] {
    const char* const words[] = {"sleep", "60", nullptr};
    const char* const variables[] = {"NAME=given", preload.c_str(), nullptr};
    ::execve("/bin/sleep", const_cast<char**>(words),
             const_cast<char**>(variables));
  });
  EXPECT_TRUE(sleeps_in(child.pid(), child.pid(), "openat"));
  EXPECT_EQ(Environment::read(child.pid())->find("NAME"), "given");
  std::filesystem::remove(fifo);
}

}  // namespace
}  // namespace hangdbg
