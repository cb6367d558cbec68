// The arguments of each launcher, of which none passes a shell unquoted.
#include "nodes/launchers/launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nodes/launchers/bootstrap.h"

namespace hangdbg {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> words_of(const char* how, const std::string& script) {
  const auto launcher = make_launcher(how);
  EXPECT_TRUE(launcher) << how;
  return launcher ? (*launcher)->words((*launcher)->nodes(), script)
                  : std::vector<std::string>();
}

TEST(Launcher, AShellGetsOneQuotedWord) {
  const std::string script = "echo $HOME; it's";
  const std::string quoted = R"(sh -c 'echo $HOME; it'\''s')";
  for (const char* const how : {"ssh:n1", "pdsh:n1", "clush:n1"}) {
    EXPECT_EQ(words_of(how, script).back(), quoted) << how;
  }
  EXPECT_THAT(words_of("docker:web", script),
              ElementsAre("docker", "exec", "-i", "web", "sh", "-c", script));
  EXPECT_THAT(words_of("cmd:n1 rsh 'a b' {host}", script),
              ElementsAre("rsh", "a b", "n1", "sh", "-c", script));
  EXPECT_THAT(words_of("cmd:n1 rsh {host} {command}", script),
              ElementsAre("rsh", "n1", quoted));
}

TEST(Launcher, SomeCarryATerminal) {
  const auto terminal = [](const char* how) {
    return (*make_launcher(how))->terminal_words("n1", "x");
  };
  EXPECT_THAT(terminal("ssh:n1"), Contains("-tt"));
  EXPECT_THAT(terminal("docker:n1"),
              ElementsAre("docker", "exec", "-it", "n1", "sh", "-c", "x"));
  EXPECT_THAT(terminal("pdsh:n1"), testing::IsEmpty());
  EXPECT_THAT(terminal("cmd:n1 all {hosts}"), testing::IsEmpty());
}

TEST(Launcher, OneProcessCarriesTheFoldedList) {
  for (const char* const how :
       {"pdsh:n[1-3]", "clush:n[1-3]", "cmd:n[1-3] all {hosts}"}) {
    EXPECT_TRUE((*make_launcher(how))->one_for_all()) << how;
    EXPECT_THAT(words_of(how, "x"), Contains("n[1-3]")) << how;
  }
}

TEST(Launcher, WhatIsNoneIsRefused) {
  for (const char* const bad :
       {"", "ssh", "ssh:", "telnet:n1", "cmd:n1", "cmd:n1 rsh",
        "cmd:n1 'rsh {host}", "ssh:-oProxyCommand=touch", "srun:4;2"}) {
    const auto launcher = make_launcher(bad);
    ASSERT_FALSE(launcher) << bad;
    EXPECT_EQ(launcher.error().id, ErrorId::Usage) << bad;
  }
}

TEST(Bootstrap, IsOneLineThatEveryLoginShellTakes) {
  for (const IfAbsent what :
       {IfAbsent::SayNeed, IfAbsent::Receive, IfAbsent::ReceiveAll}) {
    const std::string script = bootstrap_script(
        {.hash = "00ff", .size = 5, .request = "a+/=", .if_absent = what});
    EXPECT_THAT(script, Not(HasSubstr("\n")));
    EXPECT_THAT(script, Not(HasSubstr("\\")));
    EXPECT_THAT(script, Not(HasSubstr("%")));
    EXPECT_LT(script.size(), 4000U);
  }
}

}  // namespace
}  // namespace hangdbg
