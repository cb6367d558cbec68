// System calls as text, from bytes that the test made.
#include "tracee/syscalls/call_text.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <ctime>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tracee/proc/proc_tasks.h"
#include "tracee/syscalls/call_set.h"
#include "tracee/syscalls/names.h"
#include "tracee/syscalls/signature.h"
#include "tracee/syscalls/socket_text.h"
#include "tracee/syscalls/syscall_names.h"

namespace hangdbg {
namespace {

using testing::ElementsAre;

constexpr std::uint64_t kAt = 0x10000;
constexpr std::uint64_t kElsewhere = 0x20000;
constexpr int kNoFd = 999'999;  // open in no process

// A call of a process that has what the test put into its memory.
struct TestedCall {
  FakeMemory memory;
  DescriptorNames descriptors{::getpid()};
  TracedCall call;
  std::size_t most = 32;

  TestedCall(long number, std::array<std::uint64_t, 6> args)
      : call{.number = number, .args = args} {}

  TestedCall& with(std::uint64_t at, std::string_view bytes) {
    const auto* const first = reinterpret_cast<const std::byte*>(bytes.data());
    memory.add({at}, {first, first + bytes.size()});
    return *this;
  }
  // With a NUL and more memory after it.
  TestedCall& with_text(std::uint64_t at, std::string text) {
    text.resize(text.size() + 256);
    return with(at, std::string_view(text));
  }
  template <class T>
  TestedCall& with(std::uint64_t at, const T& value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    memory.add({at}, {bytes.begin(), bytes.end()});
    return *this;
  }
  std::vector<std::string> at_entry() {
    std::vector<std::string> arguments;
    tell_at_entry({memory, descriptors, most}, call, arguments);
    return arguments;
  }
  std::vector<std::string> at_exit(std::int64_t result) {
    auto arguments = at_entry();
    tell_at_exit({memory, descriptors, most}, call, result, arguments);
    return arguments;
  }
  std::string result(std::int64_t value) {
    return result_text({memory, descriptors, most}, call, value);
  }
};

constexpr auto kCwd = static_cast<std::uint64_t>(AT_FDCWD);

TEST(CallText, Openat) {
  TestedCall call(SYS_openat, {kCwd, kAt, O_RDONLY | O_CLOEXEC});
  call.with_text(kAt, "/etc/hosts");
  EXPECT_THAT(call.at_exit(kNoFd),
              ElementsAre("AT_FDCWD", "\"/etc/hosts\"", "O_RDONLY|O_CLOEXEC"));
  EXPECT_EQ(call.result(kNoFd), "999999");
  EXPECT_EQ(call.result(-ENOENT), "-1 ENOENT (No such file or directory)");
  EXPECT_EQ(call.result(-512), "? ERESTARTSYS (goes on after the signal)");
}

TEST(CallText, OpenThatCreatesHasAMode) {
  TestedCall call(SYS_open, {kAt, O_WRONLY | O_CREAT, 0640});
  call.with_text(kAt, "a\x1b[31m\"b\\\n");
  EXPECT_THAT(call.at_entry(), ElementsAre("\"a\\x1b[31m\\\"b\\\\\\n\"",
                                           "O_WRONLY|O_CREAT", "0640"));
}

TEST(CallText, APathThatCannotBeRead) {
  TestedCall call(SYS_unlink, {0xdead000});
  EXPECT_THAT(call.at_entry(), ElementsAre("0xdead000"));
  call.call.args[0] = 0;
  EXPECT_THAT(call.at_entry(), ElementsAre("NULL"));
}

TEST(CallText, WhatIsReadIsToldAtTheExit) {
  TestedCall call(SYS_read, {kNoFd, kAt, 100});
  call.with(kAt, "hello");
  EXPECT_THAT(call.at_entry(), ElementsAre("999999"));
  EXPECT_THAT(call.at_exit(5), ElementsAre("999999", "\"hello\"", "100"));
  EXPECT_THAT(call.at_exit(0), ElementsAre("999999", "\"\"", "100"));
  EXPECT_THAT(call.at_exit(-EAGAIN), ElementsAre("999999", "0x10000", "100"));
}

TEST(CallText, WhatIsWrittenIsShortened) {
  TestedCall call(SYS_write, {kNoFd, kAt, 40});
  call.most = 4;
  call.with_text(kAt, std::string(40, 'a'));
  EXPECT_THAT(call.at_entry(), ElementsAre("999999", "\"aaaa\"...", "40"));
}

TEST(CallText, Vectors) {
  TestedCall call(SYS_readv, {kNoFd, kAt, 2});
  const iovec parts[2] = {{reinterpret_cast<void*>(kElsewhere), 2},
                          {reinterpret_cast<void*>(kElsewhere + 2), 100}};
  call.with(kAt, parts).with(kElsewhere, "abcde");
  EXPECT_THAT(call.at_exit(5)[1],
              "[{iov_base=\"ab\", iov_len=2}, {iov_base=\"cde\", "
              "iov_len=100}]");
}

TEST(CallText, OneThatIsNotOver) {
  TestedCall call(SYS_read, {kNoFd, kAt, 100});
  auto arguments = call.at_entry();
  tell_the_rest(call.call, arguments);
  EXPECT_THAT(arguments, ElementsAre("999999", "0x10000", "100"));
}

TEST(CallText, OneThatIsNotKnown) {
  TestedCall call(999, {1, 0x7f0000000000, static_cast<std::uint64_t>(-1)});
  EXPECT_EQ(call_name(call.call), "syscall_999");
  EXPECT_THAT(call.at_exit(0),
              ElementsAre("1", "0x7f0000000000", "-1", "0", "0", "0"));
  call.call = {.number = 5, .compat = true};
  EXPECT_EQ(call_name(call.call), "i386_5");
}

TEST(CallText, Futex) {
  TestedCall wait(SYS_futex,
                  {kAt, FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME, 7,
                   kElsewhere, 0, 0xffffffff});
  wait.with(kElsewhere, timespec{5, 6});
  EXPECT_THAT(
      wait.at_entry(),
      ElementsAre("0x10000", "FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME",
                  "7", "{tv_sec=5, tv_nsec=6}", "NULL", "0xffffffff"));
  TestedCall wake(SYS_futex, {kAt, FUTEX_WAKE_PRIVATE, 1, 0xdead});
  EXPECT_THAT(wake.at_entry(),
              ElementsAre("0x10000", "FUTEX_WAKE_PRIVATE", "1"));
}

TEST(CallText, Mmap) {
  TestedCall call(SYS_mmap, {0, 8192, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, 0xffffffff, 0});
  EXPECT_THAT(call.at_exit(0x7f0000000000),
              ElementsAre("NULL", "8192", "PROT_READ|PROT_WRITE",
                          "MAP_PRIVATE|MAP_ANONYMOUS", "-1", "0"));
  EXPECT_EQ(call.result(0x7f0000000000), "0x7f0000000000");
  EXPECT_EQ(call.result(-ENOMEM), "-1 ENOMEM (Cannot allocate memory)");
}

TEST(CallText, Stat) {
  TestedCall call(SYS_newfstatat, {kCwd, kAt, kElsewhere, AT_EMPTY_PATH});
  struct stat file {};
  file.st_mode = S_IFREG | 0644;
  file.st_size = 77;
  call.with_text(kAt, "").with(kElsewhere, file);
  EXPECT_THAT(
      call.at_exit(0),
      ElementsAre("AT_FDCWD", "\"\"", "{st_mode=S_IFREG|0644, st_size=77, ...}",
                  "AT_EMPTY_PATH"));
}

TEST(CallText, Poll) {
  TestedCall call(SYS_poll, {kAt, 2, static_cast<std::uint64_t>(-1)});
  const pollfd asked[2] = {{kNoFd, POLLIN, 0}, {kNoFd, POLLOUT, POLLHUP}};
  call.with(kAt, asked);
  EXPECT_EQ(call.at_entry()[0],
            "[{fd=999999, events=POLLIN}, {fd=999999, events=POLLOUT}]");
  EXPECT_EQ(call.at_exit(1)[0],
            "[{fd=999999, events=POLLIN}, {fd=999999, events=POLLOUT}] => "
            "[{fd=999999, revents=POLLHUP}]");
  EXPECT_EQ(call.at_entry()[2], "-1");
}

TEST(CallText, SelectTellsWhatIsReadyAndTheTimeLeft) {
  TestedCall call(SYS_pselect6, {2, kAt, 0, 0, kElsewhere});
  call.with(kAt, std::uint64_t{0b10}).with(kElsewhere, timespec{4, 5});
  call.call.args[1] = 0;
  EXPECT_EQ(call.result(0), "0");
  EXPECT_EQ(call.result(1), "1 (left {tv_sec=4, tv_nsec=5})");
  call.call.args[1] = kAt;
  EXPECT_THAT(call.result(1),
              testing::MatchesRegex(R"(1 \(in \[1.*\], left \{tv_.*\}\))"));
  EXPECT_THAT(call.result(-EINTR), testing::StartsWith("-1 EINTR"));
}

TEST(CallText, Ioctl) {
  TestedCall call(SYS_ioctl, {kNoFd, FIONREAD, kAt});
  call.with(kAt, 7);
  EXPECT_THAT(call.at_entry(), ElementsAre("999999", "FIONREAD"));
  EXPECT_THAT(call.at_exit(0), ElementsAre("999999", "FIONREAD", "[7]"));
  EXPECT_THAT(call.at_exit(-ENOTTY),
              ElementsAre("999999", "FIONREAD", "0x10000"));
  call.call.args = {kNoFd, FIOCLEX, 0x123};
  EXPECT_THAT(call.at_entry(), ElementsAre("999999", "FIOCLEX"));
  call.call.args = {kNoFd, FIONBIO, kAt};
  EXPECT_THAT(call.at_entry(), ElementsAre("999999", "FIONBIO", "[7]"));
  call.call.args = {kNoFd, 0xffff'ffff'1234'5678, kAt};
  EXPECT_THAT(call.at_entry(), ElementsAre("999999", "0x12345678", "0x10000"));
}

TEST(CallText, IoctlOfATerminal) {
  TestedCall call(SYS_ioctl, {kNoFd, TIOCGWINSZ, kAt});
  call.with(kAt, winsize{24, 80, 0, 0});
  EXPECT_EQ(call.at_exit(0)[2],
            "{ws_row=24, ws_col=80, ws_xpixel=0, ws_ypixel=0}");
  const std::uint32_t modes[4] = {0, 0, 0, ISIG | ICANON | 0x10000};
  TestedCall terminal(SYS_ioctl, {kNoFd, TCSETS, kAt});
  terminal.with(kAt, modes);
  EXPECT_EQ(terminal.at_entry()[2], "{c_lflag=ISIG|ICANON|0x10000, ...}");
}

TEST(CallText, Epoll) {
  TestedCall call(SYS_epoll_wait, {kNoFd, kAt, 10, 1000});
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.u64 = 5;
  call.with(kAt, event);
  EXPECT_THAT(call.at_exit(1),
              ElementsAre("999999", "[{events=EPOLLIN|EPOLLET, data=0x5}]",
                          "10", "1000"));
  EXPECT_EQ(call.at_exit(0)[1], "[]");
}

TEST(CallText, SocketAddresses) {
  TestedCall call(SYS_connect, {kNoFd, kAt, sizeof(sockaddr_in)});
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(80);
  address.sin_addr.s_addr = htonl(0x0a000001);
  call.with(kAt, address);
  EXPECT_THAT(call.at_entry(), ElementsAre("999999", "10.0.0.1:80", "16"));
}

TEST(CallText, UnixSocketAddress) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, "/run/\x1b[31m");
  EXPECT_EQ(socket_address_text(std::as_bytes(std::span(&address, 1))),
            "unix:/run/\\x1b[31m");
  std::memcpy(address.sun_path, "\0name", 5);
  EXPECT_EQ(
      socket_address_text(std::as_bytes(std::span(&address, 1)).first(2 + 5)),
      "unix:@name");
  EXPECT_EQ(socket_address_text(std::as_bytes(std::span(&address, 1)).first(1)),
            "");
}

TEST(CallText, Message) {
  TestedCall call(SYS_sendmsg, {kNoFd, kAt, MSG_NOSIGNAL});
  iovec part{reinterpret_cast<void*>(kElsewhere + 0x100), 3};
  msghdr message{};
  message.msg_iov = reinterpret_cast<iovec*>(kElsewhere);
  message.msg_iovlen = 1;
  call.with(kAt, message)
      .with(kElsewhere, part)
      .with(kElsewhere + 0x100, "abc");
  EXPECT_EQ(call.at_entry()[1],
            "{msg_iov=[{iov_base=\"abc\", iov_len=3}], msg_iovlen=1, "
            "msg_flags=0}");
  EXPECT_EQ(call.at_entry()[2], "MSG_NOSIGNAL");
}

TEST(CallText, Execve) {
  TestedCall call(SYS_execve, {kAt, kElsewhere, kElsewhere + 16});
  const std::uint64_t words[4] = {kAt, 0, kAt, 0};
  call.with_text(kAt, "/bin/true").with(kElsewhere, words);
  EXPECT_THAT(call.at_entry(), ElementsAre("\"/bin/true\"", "[\"/bin/true\"]",
                                           "0x20010 /* 1 variables */"));
}

TEST(CallText, WaitStatus) {
  TestedCall call(SYS_wait4,
                  {static_cast<std::uint64_t>(-1), kAt, 1 /* WNOHANG */, 0});
  call.with(kAt, 3 << 8);
  EXPECT_THAT(call.at_exit(55),
              ElementsAre("-1", "[exited with 3]", "WNOHANG", "NULL"));
  EXPECT_EQ(call.at_exit(0)[1], "0x10000");
}

TEST(CallText, SignalSets) {
  EXPECT_EQ(signal_set(0), "[]");
  EXPECT_EQ(signal_set(1U << (SIGINT - 1) | 1U << (SIGUSR1 - 1)), "[INT USR1]");
  EXPECT_EQ(signal_set(~(std::uint64_t{1} << (SIGKILL - 1))), "~[KILL]");
  EXPECT_EQ(sent_signal(0), "0");
  EXPECT_EQ(sent_signal(SIGSTOP), "SIGSTOP");
}

TEST(CallText, Flags) {
  EXPECT_EQ(open_flags(O_RDWR | O_TMPFILE), "O_RDWR|O_TMPFILE");
  EXPECT_EQ(protection(0), "PROT_NONE");
  EXPECT_EQ(protection(0x40000000), "0x40000000");
  EXPECT_EQ(clone_flags(0x1200011),
            "CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD");
  EXPECT_EQ(socket_type(SOCK_STREAM | SOCK_CLOEXEC),
            "SOCK_STREAM|SOCK_CLOEXEC");
  EXPECT_EQ(errno_name(4000), "errno 4000");
}

// ---- sets

bool has(std::string_view set, std::string_view name) {
  const auto parsed = CallSet::parse(set);
  EXPECT_TRUE(parsed) << set;
  return parsed && parsed->contains(*syscall_number(name));
}

TEST(CallSet, NamesAndClasses) {
  EXPECT_TRUE(has("read,write", "write"));
  EXPECT_FALSE(has("read,write", "readv"));
  EXPECT_TRUE(has("file", "openat"));
  EXPECT_TRUE(has("%file", "execve"));
  EXPECT_FALSE(has("file", "read"));
  EXPECT_TRUE(has("desc", "epoll_wait"));
  EXPECT_TRUE(has("desc", "socket"));
  EXPECT_TRUE(has("trace=network", "sendmsg"));
  EXPECT_TRUE(has("all", "futex"));
  EXPECT_FALSE(has("!futex,read", "futex"));
  EXPECT_FALSE(has("!futex,read", "read"));
  EXPECT_TRUE(has("!futex,read", "write"));
  EXPECT_FALSE(has("network,!socket", "socket"));
  EXPECT_TRUE(has("network,!socket", "bind"));
}

TEST(CallSet, BadNames) {
  for (const std::string_view text : {"", "!", "reed", "read,", "%nothing"}) {
    const auto parsed = CallSet::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().id, ErrorId::Usage);
  }
}

// ---- the tables

TEST(SyscallNames, BothWays) {
  EXPECT_EQ(syscall_name(SYS_futex), "futex");
  EXPECT_EQ(syscall_name(SYS_clock_nanosleep), "clock_nanosleep");
  EXPECT_EQ(syscall_name(SYS_close_range), "close_range");
  EXPECT_EQ(syscall_name(SYS_set_mempolicy_home_node),
            "set_mempolicy_home_node");
  EXPECT_EQ(syscall_name(400), "syscall_400");
  EXPECT_EQ(syscall_name(-1), "syscall_-1");
  EXPECT_EQ(syscall_number("io_uring_enter"), SYS_io_uring_enter);
  EXPECT_FALSE(syscall_number("no_such_call"));
  EXPECT_FALSE(syscall_number(""));
}

TEST(Signatures, EachCallHasAName) {
  for (long number = 0; number < 512; ++number) {
    if (find_signature(number) != nullptr) {
      EXPECT_FALSE(syscall_name(number).starts_with("syscall_")) << number;
    }
  }
  EXPECT_EQ(find_signature(-1), nullptr);
  EXPECT_EQ(find_signature(100'000), nullptr);
}

}  // namespace
}  // namespace hangdbg
