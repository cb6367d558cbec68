// SystemSnapshot: what rules ask of the machine around a process, each asked
// once: other processes, the owner of the other end of a pipe, who holds which
// file lock, TCP connections. All of it within one deadline, and what could not
// be had is said.
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
  // Shared: who reads a process whose memory does not answer is left behind,
  // and keeps it.
  static std::shared_ptr<SystemSnapshot> make(Deadline deadline);
  virtual ~SystemSnapshot();
  SystemSnapshot(const SystemSnapshot&) = delete;
  SystemSnapshot& operator=(const SystemSnapshot&) = delete;

  // Of a live process; null if it cannot be looked at.
  virtual const ProcessSnapshot* snapshot(int pid);
  // The same for who wants the reason, by a deadline of its own. Errors: those
  // of ProcessSnapshot::open.
  Result<const ProcessSnapshot*> snapshot_before(int pid, Deadline deadline);
  // At all of them at once.
  virtual void take_snapshots(const std::vector<int>& pids);
  // Forgets what was seen of processes and of the machine: who asks next, looks
  // at it as it is then. No pointer to a snapshot may be kept.
  virtual void look_anew();
  // Its Error, then.
  const std::vector<std::string>& skipped() const { return skipped_; }

  // Who has an end of a pipe, of all processes that we may see. `device`: of a
  // FIFO.
  virtual std::vector<PipeEnd> pipe_ends(std::uint64_t inode,
                                         std::uint64_t device = 0);
  virtual bool saw_all_pipes() const { return unseen_ == 0; }
  // Processes of which it could not be seen which pipes they have.
  std::size_t pipes_unseen() const { return unseen_; }

  virtual const std::vector<FileLock>& file_locks();
  // The TCP socket with that inode, in the network of process `pid`.
  virtual std::optional<TcpSocket> tcp_socket(int pid, std::uint64_t inode);
  // Of that process.
  virtual std::vector<TcpSocket> tcp_connections(int pid);
  virtual std::optional<TcpSocket> udp_socket(int pid, std::uint64_t inode);

  // Who has the other end, and likewise of UDP and Unix sockets
  // (socket_peers.h).
  virtual std::optional<SocketPeer> tcp_peer(int pid, const TcpSocket& socket);
  virtual std::optional<SocketPeer> udp_peer(int pid, const TcpSocket& socket);
  virtual std::optional<SocketPeer> unix_peer(int pid, std::uint64_t inode);
  virtual std::optional<SocketPeer> unix_server(int pid,
                                                const std::string& name);

  virtual const std::multimap<int, int>& children();  // by parent

  // What is around a process, in short; its parts may be missing.
  virtual const HostContext& around(int pid);

  Deadline deadline() const { return deadline_; }

  // Each rank of the job is looked at in a snapshot of its own, and who waits for
  // whom among them is somebody else's business.
  bool ranks_apart = false;

  // Who waits for so long hangs.
  double hung_after_s = 10;

  // A thread that runs may be stopped for some tens of microseconds.
  bool may_stop = true;

  // At threads that have just run, for a fifth of a second.
  bool looks_again = true;

  // A thread that polls may be watched for seconds.
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
