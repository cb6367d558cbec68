// Processes and a machine that a test makes up, for what asks a ProcessSnapshot
// and a SystemSnapshot: no process is started, and nothing is read from one.
#pragma once

#include <unistd.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "diagnosis/snapshot/process_snapshot.h"
#include "diagnosis/snapshot/system_snapshot.h"
#include "inspector/host/host_context.h"

namespace hangdbg {

class MadeUpProcess : public ProcessSnapshot {
 public:
  MadeUpProcess(int pid, SystemSnapshot& world)
      : ProcessSnapshot(pid, world, Memory::Left) {
    threads.clear();
    status.state = 'S';
  }

  // By a function's name and an expression: what it is there.
  std::map<std::pair<std::string, std::string>, std::string> texts;
  std::map<int, OpenFile> files;
  std::vector<std::string> native_functions;
  int parent = 0;  // forked from that one

  // CPython 3.11, of which no object can be read.
  MadeUpProcess& python() {
    PythonProcess process{.pid = ::getpid(), .memory = LiveMemory(::getpid())};
    process.python.version.minor = 11;
    process.python.layout.object_type = 8;
    process_ = std::move(process);
    objects_ = *ObjectReader::open(*memory_, process_->python);
    return *this;
  }

  // A thread that has slept in a system call for a minute. Of Python, if it
  // has frames.
  ThreadSnapshot& sleeps_in(long call,
                            std::vector<std::uint64_t> args,
                            std::vector<PythonFrame> frames = {}) {
    ThreadSnapshot thread;
    thread.id = {pid, pid + static_cast<int>(threads.size())};
    thread.wait.state = 'S';
    thread.wait.syscall = syscall_name(call);
    thread.wait.call.number = call;
    std::ranges::copy(args, thread.wait.call.args.begin());
    thread.wait.asleep_s = 60;
    if (!frames.empty()) {
      thread.python =
          PythonThread{.ident = 7U + threads.size(), .tid = thread.id.tid};
      thread.stack.frames = std::move(frames);
    }
    threads.push_back(std::move(thread));
    return threads.back();
  }

  void open_pipe(int fd, std::uint64_t inode) {
    files[fd] = {.fd = fd,
                 .kind = FileKind::Pipe,
                 .name = "pipe:[" + std::to_string(inode) + "]",
                 .inode = inode};
  }
  void open_socket(int fd, std::uint64_t inode) {
    files[fd] = {.fd = fd,
                 .kind = FileKind::Socket,
                 .name = "socket:[" + std::to_string(inode) + "]",
                 .inode = inode};
  }

  std::optional<Address> object(const PythonFrame&,
                                std::string_view) const override {
    return std::nullopt;
  }
  std::optional<std::string> text(const PythonFrame& frame,
                                  std::string_view expression) const override {
    const auto found = texts.find({frame.function, std::string(expression)});
    return found == texts.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<std::int64_t> number(const PythonFrame&,
                                     std::string_view) const override {
    return std::nullopt;
  }
  std::string shown(const PythonFrame&, std::string_view) const override {
    return "?";
  }
  std::optional<OpenFile> file(int fd) const override {
    const auto found = files.find(fd);
    return found == files.end() ? std::nullopt : std::optional(found->second);
  }
  bool forked_from(int one) const override { return parent == one; }
  const PythonProcess* whole() const override { return nullptr; }
  const ProcessGroups& process_groups() const override { return groups_; }
  std::vector<std::string> native(const ThreadSnapshot&) const override {
    return native_functions;
  }
  std::vector<StackEntry> native_calls(const ThreadSnapshot&) const override {
    return {};
  }

 private:
  ProcessGroups groups_;
};

class MadeUpWorld : public SystemSnapshot {
 public:
  MadeUpWorld() : SystemSnapshot(Deadline::in(std::chrono::minutes(1))) {
    may_stop = may_watch = false;
  }

  MadeUpProcess& process(int pid) {
    auto& one = processes_[pid];
    one = std::make_unique<MadeUpProcess>(pid, *this);
    return *one;
  }

  std::vector<PipeEnd> ends;
  std::vector<FileLock> locks;
  std::map<std::uint64_t, TcpSocket> tcp;           // by inode
  std::map<std::uint64_t, std::vector<int>> peers;  // of Unix sockets
  std::multimap<int, int> parents;                  // child by parent

  const ProcessSnapshot* snapshot(int pid) override {
    const auto found = processes_.find(pid);
    return found == processes_.end() ? nullptr : found->second.get();
  }
  std::vector<PipeEnd> pipe_ends(std::uint64_t inode) override {
    std::vector<PipeEnd> found;
    std::ranges::copy_if(ends, std::back_inserter(found),
                         [&](const auto& end) { return end.inode == inode; });
    return found;
  }
  const std::vector<FileLock>& file_locks() override { return locks; }
  std::optional<TcpSocket> tcp_socket(int, std::uint64_t inode) override {
    const auto found = tcp.find(inode);
    return found == tcp.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<std::vector<int>> unix_peers(int,
                                             std::uint64_t inode) override {
    const auto found = peers.find(inode);
    return found == peers.end() ? std::nullopt : std::optional(found->second);
  }
  const std::multimap<int, int>& children() override { return parents; }
  const HostContext& around(int) override { return around_; }

 private:
  std::map<int, std::unique_ptr<MadeUpProcess>> processes_;
  HostContext around_;
};

}  // namespace hangdbg
