// Processes and a machine that a test makes up, for users of a ProcessSnapshot
// and a SystemSnapshot: no process is started, and nothing is read from one.
// The memory of such a process is the test's own: made_up_objects.h puts
// objects there.
#pragma once

#include <unistd.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "diagnosis/causes/rules.h"
#include "diagnosis/snapshot/process_snapshot.h"
#include "diagnosis/snapshot/system_snapshot.h"
#include "inspector/host/host_context.h"
#include "tests/unit/support/made_up_objects.h"

namespace hangdbg {

class MadeUpProcess : public ProcessSnapshot {
 public:
  MadeUpProcess(int pid, SystemSnapshot& system)
      : ProcessSnapshot(pid, system, Memory::Read) {
    memory_ = std::make_unique<LiveMemory>(::getpid());
    threads.clear();
    status.state = 'S';
  }

  // By a function's name and an expression: what it is there.
  template <class T>
  using Values = std::map<std::pair<std::string, std::string>, T>;
  Values<std::string> texts, reprs;
  Values<std::int64_t> numbers;
  Values<Address> objects;
  std::map<int, OpenFile> files;
  std::map<int, std::vector<StackEntry>> calls;  // of C, by thread
  ProcessGroups groups;
  std::map<std::string, FrameLoops> frame_loops;  // by a function's name
  int parent = 0;                                 // its parent by fork
  std::map<std::string, std::string> environment;
  AsyncioTasks tasks;
  std::optional<AsyncioTasks> tasks_at_first;  // if they change after that
  // A second read gives what was read before, except the state of a traced
  // thread, and the values of variables in each of several samples.
  std::map<int, ProcStatus> statuses;
  std::map<int, WaitSample> waits_later;  // of a thread that has resumed
  std::function<std::map<std::string, std::string>(int)> locals;

  // CPython 3.11.
  MadeUpProcess& python() {
    PythonProcess process{.pid = ::getpid(), .memory = LiveMemory(::getpid())};
    process.python.version.minor = 11;
    process.python.layout = *generated_layout(11);
    process_ = std::move(process);
    objects_ = *ObjectReader::open(*memory_, process_->python);
    return *this;
  }

  // A library that it has loaded, at some address.
  void loads(std::string path, Address base = {}, Address end = {}) {
    if (!whole_) {
      whole_ =
          PythonProcess{.pid = ::getpid(), .memory = LiveMemory(::getpid())};
    }
    whole_->modules.push_back(
        {.path = std::move(path), .base = base, .end = end, .segments = {}});
  }

  // The C functions that a thread is in, the innermost first, all of one
  // library.
  void is_in(const ThreadSnapshot& thread,
             const std::vector<std::string>& functions,
             const std::string& library) {
    auto& entries = calls[thread.id.tid];
    for (const std::string& function : functions) {
      entries.push_back({.kind = StackEntry::Kind::Native,
                         .native = {.function = function, .module = library}});
    }
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
  void open_fifo(int fd, std::uint64_t inode, std::string path) {
    files[fd] = {.fd = fd,
                 .kind = FileKind::Fifo,
                 .name = std::move(path),
                 .inode = inode,
                 .device = 7};
  }
  void open_socket(int fd, std::uint64_t inode) {
    files[fd] = {.fd = fd,
                 .kind = FileKind::Socket,
                 .name = "socket:[" + std::to_string(inode) + "]",
                 .inode = inode};
  }

  std::optional<Address> object(const PythonFrame& frame,
                                std::string_view expression) const override {
    objects_->allow_reads();
    return found_in(objects, frame, expression);
  }
  std::optional<std::string> text(const PythonFrame& frame,
                                  std::string_view expression) const override {
    return found_in(texts, frame, expression);
  }
  std::optional<std::int64_t> number(
      const PythonFrame& frame,
      std::string_view expression) const override {
    return found_in(numbers, frame, expression);
  }
  std::string shown(const PythonFrame& frame,
                    std::string_view expression) const override {
    return found_in(reprs, frame, expression).value_or("?");
  }
  std::optional<FrameLoops> loops(const PythonFrame& frame) const override {
    const auto found = frame_loops.find(frame.function);
    return found == frame_loops.end() ? std::nullopt
                                      : std::optional(found->second);
  }
  std::optional<OpenFile> file(int fd) const override {
    const auto found = files.find(fd);
    return found == files.end() ? std::nullopt : std::optional(found->second);
  }
  std::vector<OpenFile> open_files() const override {
    std::vector<OpenFile> all;
    for (const auto& [fd, file] : files) {
      all.push_back(file);
    }
    return all;
  }
  std::optional<std::string> variable(std::string_view name) const override {
    const auto found = environment.find(std::string(name));
    return found == environment.end() ? std::nullopt
                                      : std::optional(found->second);
  }
  AsyncioTasks asyncio_tasks() const override {
    return task_looks_++ == 0 && tasks_at_first ? *tasks_at_first : tasks;
  }
  std::optional<WaitSample> wait_now(int tid) const override {
    if (const auto later = waits_later.find(tid); later != waits_later.end()) {
      return later->second;
    }
    const ThreadSnapshot* const one = thread(tid);
    return one != nullptr ? std::optional(one->wait) : std::nullopt;
  }
  std::optional<ProcStatus> status_now(int tid) const override {
    const auto found = statuses.find(tid);
    return found == statuses.end() ? std::nullopt
                                   : std::optional(found->second);
  }
  std::optional<SchedStats> runs_now(int) const override { return {}; }
  std::optional<GilState> gil_now() const override { return gil; }
  std::vector<PythonStack> watch_stack(
      const ThreadSnapshot& one,
      int samples,
      Deadline::Clock::duration) const override {
    return std::vector<PythonStack>(static_cast<std::size_t>(samples),
                                    one.stack);
  }
  std::map<std::string, std::string> locals_now(
      const PythonFrame&) const override {
    return locals ? locals(samples_++) : std::map<std::string, std::string>();
  }
  bool forked_from(int one) const override {
    return parent != 0 && parent == one;
  }
  const PythonProcess* whole() const override {
    return whole_ ? &*whole_ : nullptr;
  }
  const ProcessGroups& process_groups() const override { return groups; }
  std::vector<std::string> native(const ThreadSnapshot& thread) const override {
    std::vector<std::string> functions;
    for (const StackEntry& entry : native_calls(thread)) {
      functions.push_back(entry.native.text());
    }
    return functions;
  }
  std::vector<StackEntry> native_calls(
      const ThreadSnapshot& thread) const override {
    const auto found = calls.find(thread.id.tid);
    return found == calls.end() ? std::vector<StackEntry>() : found->second;
  }

 private:
  template <class T>
  static std::optional<T> found_in(const Values<T>& values,
                                   const PythonFrame& frame,
                                   std::string_view expression) {
    const auto found = values.find({frame.function, std::string(expression)});
    return found == values.end() ? std::nullopt : std::optional(found->second);
  }

  std::optional<PythonProcess> whole_;
  mutable int samples_ = 0;  // of `locals`
  mutable int task_looks_ = 0;
};

class MadeUpSystem : public SystemSnapshot {
 public:
  MadeUpSystem() : SystemSnapshot(Deadline::in(std::chrono::minutes(1))) {
    may_stop = may_watch = false;
  }

  MadeUpProcess& process(int pid) {
    auto& one = processes_[pid];
    one = std::make_unique<MadeUpProcess>(pid, *this);
    return *one;
  }

  MadeUpProcess& at(int pid) { return *processes_.at(pid); }
  MadeUpProcess& python(int pid) { return process(pid).python(); }

  MadeUpObjects objects;  // of all of them
  std::vector<PipeEnd> ends;
  bool all_pipes = true;
  std::vector<FileLock> locks;
  std::map<std::uint64_t, TcpSocket> tcp, udp;      // by inode
  std::map<std::uint64_t, std::vector<int>> peers;  // of Unix sockets
  std::map<std::uint64_t, SocketPeer> other_ends;   // of any
  std::map<std::string, SocketPeer> unix_servers;   // by name
  std::multimap<int, int> parents;                  // child by parent
  HostContext surroundings;                         // of each process

  const ProcessSnapshot* snapshot(int pid) override {
    const auto found = processes_.find(pid);
    return found == processes_.end() ? nullptr : found->second.get();
  }
  void take_snapshots(const std::vector<int>&) override {}
  void look_anew() override {}
  std::vector<PipeEnd> pipe_ends(std::uint64_t inode,
                                 std::uint64_t device) override {
    std::vector<PipeEnd> found;
    std::ranges::copy_if(ends, std::back_inserter(found), [&](const auto& end) {
      return end.inode == inode && end.device == device;
    });
    return found;
  }
  bool saw_all_pipes() const override { return all_pipes; }
  const std::vector<FileLock>& file_locks() override { return locks; }
  std::optional<TcpSocket> tcp_socket(int, std::uint64_t inode) override {
    const auto found = tcp.find(inode);
    return found == tcp.end() ? std::nullopt : std::optional(found->second);
  }
  std::vector<TcpSocket> tcp_connections(int pid) override {
    std::vector<TcpSocket> found;
    for (const auto& [fd, file] : at(pid).files) {
      if (const auto socket = tcp_socket(pid, file.inode)) {
        found.push_back(*socket);
      }
    }
    return found;
  }
  std::optional<TcpSocket> udp_socket(int, std::uint64_t inode) override {
    const auto found = udp.find(inode);
    return found == udp.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<SocketPeer> tcp_peer(int, const TcpSocket& socket) override {
    return other_end(socket.inode);
  }
  std::optional<SocketPeer> udp_peer(int, const TcpSocket& socket) override {
    return other_end(socket.inode);
  }
  std::optional<SocketPeer> unix_peer(int, std::uint64_t inode) override {
    const auto pids = peers.find(inode);
    if (pids == peers.end()) {
      const bool is_unix = !tcp.contains(inode) && !udp.contains(inode);
      return is_unix ? other_end(inode) : std::nullopt;
    }
    SocketPeer peer;
    for (const int pid : pids->second) {
      peer.holders.push_back({pid, 9});
    }
    return peer;
  }
  std::optional<SocketPeer> unix_server(int, const std::string& name) override {
    const auto found = unix_servers.find(name);
    return found == unix_servers.end() ? std::nullopt
                                       : std::optional(found->second);
  }
  const std::multimap<int, int>& children() override { return parents; }
  const HostContext& around(int) override { return surroundings; }

 private:
  std::optional<SocketPeer> other_end(std::uint64_t inode) const {
    const auto found = other_ends.find(inode);
    return found == other_ends.end() ? std::nullopt
                                     : std::optional(found->second);
  }

  std::map<int, std::unique_ptr<MadeUpProcess>> processes_;
};

// Of no process that is here.
constexpr int kOne = 99999901;
constexpr int kOther = 99999902;
constexpr int kThird = 99999903;

inline PythonFrame frame(const std::string& file,
                         const std::string& function,
                         int line = 12) {
  return {
      .function = function, .qualname = function, .file = file, .line = line};
}

// Of the program, and not of a library.
inline std::vector<PythonFrame> own_frames() {
  return {frame("/home/ada/train.py", "load")};
}

// A function of the standard library, called by the program.
inline std::vector<PythonFrame> called(
    std::vector<std::pair<std::string, std::string>> functions) {
  std::vector<PythonFrame> frames;
  for (const auto& [file, function] : functions) {
    frames.push_back(frame("/usr/lib/python3.11/" + file, function));
  }
  frames.push_back(frame("/home/ada/train.py", "load"));
  return frames;
}

inline Cause cause_of(MadeUpSystem& system, int pid, std::size_t thread = 0) {
  const ProcessSnapshot* const of = system.snapshot(pid);
  return cause_of(*of, of->threads[thread]);
}

}  // namespace hangdbg
