// Which of the kernel's rules refused, from facts: each of them alone, since a
// test's machine has few of them.
#include "tracee/access/permission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace hangdbg {
namespace {

using testing::HasSubstr;
using testing::Not;

// A process of this user that may be traced except for one fact.
TraceFacts facts() {
  TraceFacts facts;
  facts.pid = 79655;
  facts.own_uid = 1000;
  facts.their_uids = {1000, 1000, 1000, 1000};
  facts.proc_owner = 1000;
  facts.errno_value = EACCES;
  return facts;
}

TEST(ExplainRefusal, AnotherUser) {
  TraceFacts other = facts();
  other.their_uids = {1000, 0, 0, 0};  // set-uid
  const Error error = explain_refusal(other);
  EXPECT_EQ(error.id, ErrorId::OtherUser);
  EXPECT_THAT(error.message, HasSubstr("uid 0"));
  EXPECT_EQ(error.hint, "sudo hangdbg attach 79655");
}

TEST(ExplainRefusal, NotDumpable) {
  TraceFacts hidden = facts();
  hidden.proc_owner = 0;
  EXPECT_EQ(explain_refusal(hidden).id, ErrorId::NotDumpable);
}

TEST(ExplainRefusal, MoreCapabilities) {
  TraceFacts capable = facts();
  capable.own_capabilities = 1u << 10;
  capable.their_capabilities = 1u << 10 | 1u << 13;
  Error error = explain_refusal(capable);
  EXPECT_EQ(error.id, ErrorId::MoreCapable);
  EXPECT_THAT(error.message, HasSubstr("(net_raw)"));
  capable.their_capabilities = std::uint64_t{1} << 63 | 3;
  error = explain_refusal(capable);
  EXPECT_THAT(error.message, HasSubstr("(chown and 2 more)"));
}

TEST(ExplainRefusal, Yama) {
  TraceFacts restricted = facts();
  restricted.ptrace_scope = 1;
  Error error = explain_refusal(restricted);
  EXPECT_EQ(error.id, ErrorId::Yama);
  EXPECT_THAT(error.message, HasSubstr("ancestor"));
  EXPECT_THAT(error.hint, HasSubstr("sysctl kernel.yama.ptrace_scope=0"));
  EXPECT_THAT(error.hint, HasSubstr("hangdbg run -- COMMAND"));
  restricted.ptrace_scope = 2;
  error = explain_refusal(restricted);
  EXPECT_THAT(error.message, HasSubstr("root"));
  EXPECT_THAT(error.hint, Not(HasSubstr("hangdbg run")));
  restricted.ptrace_scope = 3;
  restricted.own_capabilities = ~std::uint64_t{0};
  error = explain_refusal(restricted);
  EXPECT_EQ(error.id, ErrorId::Yama);
  EXPECT_THAT(error.hint, HasSubstr("reboot"));
  restricted.same_user_namespace = false;
  restricted.own_capabilities = 0;
  EXPECT_EQ(explain_refusal(restricted).id, ErrorId::Yama);
}

TEST(ExplainRefusal, YamaIsOffOrDoesNotConcernUs) {
  TraceFacts root = facts();
  root.ptrace_scope = 0;
  EXPECT_EQ(explain_refusal(root).id, ErrorId::NotPermitted);
  root.ptrace_scope = 2;
  root.own_capabilities = ~std::uint64_t{0};
  EXPECT_EQ(explain_refusal(root).id, ErrorId::NotPermitted);
}

TEST(ExplainRefusal, AnotherUserNamespace) {
  TraceFacts far = facts();
  far.same_user_namespace = false;
  const Error error = explain_refusal(far);
  EXPECT_EQ(error.id, ErrorId::NotPermitted);
  EXPECT_THAT(error.message, HasSubstr("user namespace"));
  EXPECT_EQ(error.errno_value, EACCES);
}

TEST(ExplainRefusal, InAPodItIsKubectlAndNoSysctl) {
  TraceFacts pod = facts();
  pod.ptrace_scope = 1;
  pod.surroundings = Containment::Pod;
  const Error error = explain_refusal(pod);
  EXPECT_THAT(error.hint, HasSubstr("kubectl debug -it "));
  EXPECT_THAT(error.hint, HasSubstr("hangdbg attach 79655"));
  EXPECT_THAT(error.hint, HasSubstr("hangdbg run -- COMMAND"));
  EXPECT_THAT(error.hint, Not(HasSubstr("sysctl")));
}

TEST(ExplainRefusal, InAContainerItIsDocker) {
  TraceFacts contained = facts();
  contained.own_uid = 0;
  contained.surroundings = Containment::Container;
  EXPECT_THAT(explain_refusal(contained).hint,
              HasSubstr("docker exec -u 0 --privileged CONTAINER"));
}

TEST(TraceCalls, WhatTheKernelAnswers) {
  const auto judge = [](int seize, int readv) {
    const Status status =
        judge_trace_calls(seize, readv, Containment::Container);
    return status ? std::string() : error_name(status.error().id);
  };
  EXPECT_EQ(judge(ESRCH, 0), "");
  EXPECT_EQ(judge(EIO, 0), "kernel-too-old");
  EXPECT_EQ(judge(ESRCH, ENOSYS), "kernel-too-old");
  EXPECT_EQ(judge(EPERM, 0), "ptrace-forbidden");
  EXPECT_EQ(judge(ESRCH, EPERM), "ptrace-forbidden");
}

TEST(TraceCalls, MayBeMadeHere) {
  const Status calls = check_trace_calls();
  EXPECT_TRUE(calls) << calls.error().text();
}

}  // namespace
}  // namespace hangdbg
