// SystemSnapshot: what rules need to know about the machine around a process,
// each read once: other processes, the owner of the other end of a pipe,
// holders of file locks, TCP connections. All within one deadline; what could
// not be read is recorded.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "diagnosis/snapshot/socket_peers.h"
#include "tracee/net/tcp_sockets.h"
#include "tracee/proc/file_locks.h"
#include "tracee/proc/open_files.h"

namespace hangdbg {

class ProcessSnapshot;
struct HostContext;

class SystemSnapshot : public std::enable_shared_from_this<SystemSnapshot> {
 public:
  // Shared: a thread that reads a process whose memory does not answer is
  // abandoned, and keeps it.
  static std::shared_ptr<SystemSnapshot> make(Deadline deadline);
  virtual ~SystemSnapshot();
  SystemSnapshot(const SystemSnapshot&) = delete;
  SystemSnapshot& operator=(const SystemSnapshot&) = delete;

  // Of a live process; null: it cannot be inspected.
  virtual const ProcessSnapshot* snapshot(int pid);
  // The same with the reason, and by a deadline of its own. Errors: those of
  // ProcessSnapshot::open.
  Result<const ProcessSnapshot*> snapshot_before(int pid, Deadline deadline);
  // Takes all of them at once.
  virtual void take_snapshots(const std::vector<int>& pids);
  // Forgets all processes and the machine: the next call reads them anew. No
  // pointer to a snapshot may be kept.
  virtual void look_anew();
  // The errors of those that could not be inspected.
  const std::vector<std::string>& skipped() const { return skipped_; }

  // The processes that have an end of a pipe, as far as permitted. `device`: of
  // a FIFO.
  virtual std::vector<PipeEnd> pipe_ends(std::uint64_t inode,
                                         std::uint64_t device = 0);
  virtual bool saw_all_pipes() const { return unseen_ == 0; }
  // Processes whose pipes could not be read.
  std::size_t pipes_unseen() const { return unseen_; }

  virtual const std::vector<FileLock>& file_locks();
  // The TCP socket with that inode, in the network of process `pid`.
  virtual std::optional<TcpSocket> tcp_socket(int pid, std::uint64_t inode);
  // Of that process.
  virtual std::vector<TcpSocket> tcp_connections(int pid);
  virtual std::optional<TcpSocket> udp_socket(int pid, std::uint64_t inode);

  // The owner of the other end, and likewise of UDP and Unix sockets
  // (socket_peers.h).
  virtual std::optional<SocketPeer> tcp_peer(int pid, const TcpSocket& socket);
  virtual std::optional<SocketPeer> udp_peer(int pid, const TcpSocket& socket);
  virtual std::optional<SocketPeer> unix_peer(int pid, std::uint64_t inode);
  virtual std::optional<SocketPeer> unix_server(int pid,
                                                const std::string& name);

  virtual const std::multimap<int, int>& children();  // by parent

  // The host of a process, in short; some of it may be missing.
  virtual const HostContext& around(int pid);

  Deadline deadline() const { return deadline_; }

  // Each rank of the job has a snapshot of its own; the caller finds which
  // ranks wait for which.
  bool ranks_apart = false;

  // A longer wait is a hang.
  double hung_after_s = 10;

  // A running thread may be stopped for some tens of microseconds.
  bool may_stop = true;

  // Threads that have just run are sampled again, for a fifth of a second.
  bool looks_again = true;

  // A polling thread may be watched for seconds.
  bool may_watch = true;

 protected:
  explicit SystemSnapshot(Deadline deadline);

 private:
  using Made = std::optional<Result<std::unique_ptr<ProcessSnapshot>>>;
  void add(int pid, Made made);
  Deadline deadline_;
  std::map<int, std::unique_ptr<ProcessSnapshot>> cases_;
  std::vector<std::string> skipped_;
  std::optional<std::multimap<std::uint64_t, PipeEnd>> pipes_;
  std::size_t unseen_ = 0;
  std::optional<std::vector<FileLock>> locks_;
  SocketTables sockets_;
  std::optional<std::multimap<int, int>> children_;
  std::map<int, std::unique_ptr<HostContext>> host_contexts_;
};

}  // namespace hangdbg
