#include "tracee/net/descriptors.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/parallel_map.h"
#include "tracee/proc/proc_list.h"

namespace hangdbg {
namespace {

using Ends = std::vector<PipeEnd>;

void find_connections(int pid, Descriptors& found, Deadline deadline);
void find_other_ends(Descriptors& found, Deadline deadline);

}  // namespace

Result<Descriptors> read_descriptors(int pid, Deadline deadline) {
  OpenFiles open = TRY(read_open_files(pid));
  Descriptors found;
  found.complete = open.complete;
  for (OpenFile& file : open.files) {
    found.descriptors.push_back({std::move(file), {}, {}});
  }
  const auto has = [&](FileKind kind) {
    return std::ranges::any_of(
        found.descriptors,
        [kind](const Descriptor& one) { return one.file.kind == kind; });
  };
  if (has(FileKind::Socket)) {
    find_connections(pid, found, deadline);
  }
  if (has(FileKind::Pipe) || has(FileKind::Fifo)) {
    find_other_ends(found, deadline);
  }
  return found;
}

namespace {

// A socket of another kind, or of a namespace that we cannot ask, stays one.
void find_connections(int pid, Descriptors& found, Deadline deadline) {
  const auto listed = read_tcp_sockets(pid, deadline);
  if (!listed) {
    return;
  }
  std::unordered_map<std::uint64_t, const TcpSocket*> by_inode;
  for (const TcpSocket& socket : listed->sockets) {
    by_inode.emplace(socket.inode, &socket);
  }
  for (Descriptor& one : found.descriptors) {
    const auto socket = by_inode.find(one.file.inode);
    if (one.file.kind == FileKind::Socket && socket != by_inode.end()) {
      one.tcp = *socket->second;
    }
  }
}

void find_other_ends(Descriptors& found, Deadline deadline) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, Ends> by_inode;
  for (const Descriptor& one : found.descriptors) {
    if (one.file.is_pipe()) {
      by_inode[{one.file.device, one.file.inode}];
    }
  }
  const auto pids = list_processes();
  parallel_map<Ends>(
      pids ? *pids : std::vector<int>(), deadline,
      [](int pid) { return read_pipe_ends(pid); },
      [&](int, std::optional<Result<Ends>> ends) {
        if (!ends || (!*ends && (*ends).error().id != ErrorId::NoSuchProcess)) {
          ++found.unseen;
          return;
        }
        for (const PipeEnd& end : *ends ? **ends : Ends()) {
          const auto pipe = by_inode.find({end.device, end.inode});
          if (pipe != by_inode.end()) {
            pipe->second.push_back(end);
          }
        }
      });
  for (Descriptor& one : found.descriptors) {
    if (one.file.is_pipe()) {
      std::ranges::copy_if(by_inode[{one.file.device, one.file.inode}],
                           std::back_inserter(one.other_ends),
                           [&](const PipeEnd& end) {
                             return (one.file.reads() && end.writes) ||
                                    (one.file.writes() && end.reads);
                           });
    }
  }
}

}  // namespace
}  // namespace hangdbg
