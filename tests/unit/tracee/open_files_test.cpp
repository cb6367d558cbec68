// Descriptors, as the kernel shows them: its texts as a test made them, and
// those of this process.
#include "tracee/proc/open_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <random>
#include <string>

#include "base/fd.h"
#include "tracee/net/descriptors.h"

namespace hangdbg {
namespace {

TEST(OpenFile, KindsByTheirLinks) {
  const auto kind = [](const std::string& link) {
    return parse_open_file(3, link, "").kind;
  };
  EXPECT_EQ(kind("/home/ada/train.py"), FileKind::File);
  EXPECT_EQ(kind("/dev/pts/3"), FileKind::Device);
  EXPECT_EQ(kind("/dev/shm/torch_1"), FileKind::Memory);
  EXPECT_EQ(kind("/memfd:x (deleted)"), FileKind::Memory);
  EXPECT_EQ(kind("pipe:[12]"), FileKind::Pipe);
  EXPECT_EQ(kind("socket:[12]"), FileKind::Socket);
  EXPECT_EQ(kind("anon_inode:[eventfd]"), FileKind::EventFd);
  EXPECT_EQ(kind("anon_inode:[eventpoll]"), FileKind::Epoll);
  EXPECT_EQ(kind("anon_inode:inotify"), FileKind::Inotify);
  EXPECT_EQ(kind("anon_inode:[pidfd]"), FileKind::PidFd);
  EXPECT_EQ(kind("pidfd:[77]"), FileKind::PidFd);
  EXPECT_EQ(kind("anon_inode:[io_uring]"), FileKind::Other);
  EXPECT_EQ(kind("pipe:[12"), FileKind::Other);
  EXPECT_EQ(kind(""), FileKind::Other);
  EXPECT_EQ(parse_open_file(3, "pipe:[12]", "").inode, 12);
}

TEST(OpenFile, WhatIsDeleted) {
  const OpenFile gone = parse_open_file(3, "/tmp/lock (deleted)", "");
  EXPECT_EQ(gone.name, "/tmp/lock");
  EXPECT_TRUE(gone.deleted);
  EXPECT_FALSE(parse_open_file(3, "/tmp/lock", "").deleted);
  EXPECT_FALSE(parse_open_file(3, "/memfd:x (deleted)", "").deleted);
}

TEST(OpenFile, WhatItsInfoSays) {
  const OpenFile file = parse_open_file(
      3, "/tmp/lock",
      "pos:\t4096\nflags:\t0102001\nmnt_id:\t29\nino:\t1179650\n"
      "lock:\t1: FLOCK  ADVISORY  WRITE 4242 fe:01:1179650 0 EOF\n"
      "lock:\t2: POSIX  ADVISORY  READ  4242 fe:01:1179650 5 14\n"
      "lock:\t3: POSIX\n");
  EXPECT_EQ(file.position, 4096);
  EXPECT_TRUE(file.writes() && !file.reads());
  EXPECT_EQ(file.locks, (std::vector<HeldLock>{{"FLOCK", true, 0, {}},
                                               {"POSIX", false, 5, 14}}));
}

TEST(OpenFile, WhatHangsOnIt) {
  EXPECT_EQ(parse_open_file(3, "anon_inode:[eventfd]",
                            "flags:\t02\neventfd-count:               1f\n")
                .count,
            31);
  EXPECT_EQ(
      parse_open_file(3, "anon_inode:[pidfd]", "Pid:\t-1\nNSpid:\t-1\n").pid,
      -1);
  const auto never = [](const char* value, const char* interval) {
    return parse_open_file(3, "anon_inode:[timerfd]",
                           std::string("it_value: ") + value +
                               "\nit_interval: " + interval + "\n")
        .disarmed;
  };
  EXPECT_TRUE(never("(0, 0)", "(0, 0)"));
  EXPECT_FALSE(never("(0, 0)", "(1, 0)"));
  EXPECT_FALSE(never("(0, 49406829)", "(0, 0)"));
  const OpenFile epoll = parse_open_file(
      3, "anon_inode:[eventpoll]",
      "tfd:        5 events:       19 data:                5  pos:0 ino:9 "
      "sdev:a\ntfd:        7 events: 80000001 data:                7\n"
      "tfd:\n");
  EXPECT_EQ(epoll.watches,
            (std::vector<EpollWatch>{{5, 0x19}, {7, 0x80000001}}));
}

TEST(OpenFile, JunkIsBounded) {
  std::mt19937 random(20261124);
  const std::string info =
      "pos:\t0\nflags:\t02\nlock:\t1: FLOCK A WRITE 1 a 0 EOF\ntfd: 5 events: "
      "1\n";
  for (int round = 0; round < 2000; ++round) {
    std::string bad = info;
    for (int i = 0; i < 5; ++i) {
      bad[random() % bad.size()] = static_cast<char>(random());
    }
    EXPECT_EQ(parse_open_file(3, bad, bad).fd, 3);
  }
}

TEST(Descriptors, OfThisProcess) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const Fd reader(pipe[0]);
  const Fd writer(pipe[1]);
  const Fd event(::eventfd(3, 0));
  const Fd epoll(::epoll_create1(0));
  epoll_event wanted{.events = EPOLLIN, .data = {}};
  ASSERT_EQ(::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, reader.get(), &wanted), 0);
  const Fd locked(::open("/tmp", O_TMPFILE | O_RDWR, 0600));
  const auto found =
      read_descriptors(::getpid(), Deadline::in(std::chrono::seconds(10)))
          .value();
  const auto at = [&](const Fd& fd) {
    return *std::ranges::find(found.descriptors, fd.get(),
                              [](const auto& one) { return one.file.fd; });
  };
  EXPECT_TRUE(found.complete);
  EXPECT_EQ(at(event).file.count, 3);
  EXPECT_EQ(at(epoll).file.watches[0].fd, reader.get());
  ASSERT_EQ(at(reader).other_ends.size(), 1);
  EXPECT_EQ(at(reader).other_ends[0].fd, writer.get());
  ASSERT_EQ(at(writer).other_ends.size(), 1);
  EXPECT_EQ(at(writer).other_ends[0].fd, reader.get());
  if (locked) {
    EXPECT_TRUE(at(locked).file.deleted);
  }
}

TEST(Descriptors, AFifo) {
  const std::string path = std::filesystem::temp_directory_path() /
                           ("a_fifo." + std::to_string(::getpid()));
  std::filesystem::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const Fd reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK));
  const Fd writer(::open(path.c_str(), O_WRONLY));
  const Fd neither(::open(path.c_str(), O_PATH));
  std::filesystem::remove(path);
  const auto found =
      read_descriptors(::getpid(), Deadline::in(std::chrono::seconds(10)))
          .value();
  const auto at = [&](const Fd& fd) {
    return *std::ranges::find(found.descriptors, fd.get(),
                              [](const auto& one) { return one.file.fd; });
  };
  EXPECT_EQ(at(reader).file.kind, FileKind::Fifo);
  EXPECT_EQ(at(reader).file.name, path);
  EXPECT_TRUE(at(reader).file.deleted);
  ASSERT_EQ(at(reader).other_ends.size(), 1);
  EXPECT_EQ(at(reader).other_ends[0].fd, writer.get());
  ASSERT_EQ(at(writer).other_ends.size(), 1);
  EXPECT_EQ(at(writer).other_ends[0].fd, reader.get());
  EXPECT_TRUE(at(neither).other_ends.empty());
}

TEST(Descriptors, OfNoProcess) {
  EXPECT_EQ(read_descriptors(0x3fffffff, Deadline::in(std::chrono::seconds(1)))
                .error()
                .id,
            ErrorId::NoSuchProcess);
}

}  // namespace
}  // namespace hangdbg
