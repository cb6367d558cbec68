// The open files of a process, as /proc/PID/fd and fdinfo tell them (proc(5)):
// what each descriptor is, how it may be used, and what can be reached from it.
//
// No file system is queried: a file on a dead mount delays nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hangdbg {

enum class FileKind {
  File,
  Device,
  Memory,  // of no file system: memfd_create(2), shared memory
  Pipe,
  Fifo,  // a pipe with a path (fifo(7))
  Socket,
  EventFd,
  Epoll,
  TimerFd,
  SignalFd,
  Inotify,
  PidFd,
  Other,
};
std::string_view file_kind_name(FileKind kind);  // "file", "epoll", ...

// What an epoll set watches, by the number that the descriptor had then.
struct EpollWatch {
  int fd = 0;
  std::uint32_t events = 0;  // EPOLLIN, ...
  bool operator==(const EpollWatch&) const = default;
};

// A lock that is held by way of this descriptor (flock(2), fcntl(2)).
struct HeldLock {
  std::string type;  // "FLOCK", "POSIX", "OFDLCK", "LEASE"
  bool write = false;
  std::uint64_t start = 0;
  std::optional<std::uint64_t> end;  // included; none: the end of the file
  bool operator==(const HeldLock&) const = default;
};

struct OpenFile {
  int fd = 0;
  FileKind kind = FileKind::Other;
  std::string name;      // a path, or what the kernel calls it: "[eventfd]"
  bool deleted = false;  // that path names it no more
  // Of a pipe or socket: descriptors with the same number are its ends. Of a
  // path, with the number of its file system.
  std::uint64_t inode = 0;
  std::uint64_t device = 0;
  std::uint32_t flags = 0;  // O_RDONLY, O_NONBLOCK, ... (open(2))
  std::uint64_t position = 0;
  std::optional<std::uint64_t> count;  // of an eventfd
  bool disarmed = false;               // a timerfd that never expires
  std::optional<int> pid;              // of a pidfd; -1: that has ended
  std::optional<int> terminal;  // N of /dev/pts/N, of the end that serves it
  std::vector<EpollWatch> watches;
  std::vector<HeldLock> locks;

  bool is_pipe() const {
    return kind == FileKind::Pipe || kind == FileKind::Fifo;
  }
  bool reads() const;
  bool writes() const;
};

struct OpenFiles {
  std::vector<OpenFile> files;  // by descriptor
  bool complete = true;         // false: there are more than kMostOpenFiles
};
constexpr std::size_t kMostOpenFiles = 1U << 20;

// One that is closed while we look is left out. Errors: NoSuchProcess,
// NotPermitted, System.
Result<OpenFiles> read_open_files(int pid);

// One descriptor. Errors: as above.
Result<OpenFile> read_open_file(int pid, int fd);

// A descriptor's link and fdinfo, taken apart. What does not parse is left at
// its default, and a FIFO passes for a file.
OpenFile parse_open_file(int fd,
                         std::string_view link,
                         std::string_view fdinfo);

// One end of a pipe.
struct PipeEnd {
  int pid = 0;
  int fd = 0;
  std::uint64_t inode = 0;
  std::uint64_t device = 0;  // of a FIFO
  bool reads = false;
  bool writes = false;
};

// The pipes of a process, FIFOs included. Errors: as above.
Result<std::vector<PipeEnd>> read_pipe_ends(int pid);

}  // namespace hangdbg
