#include "diagnosis/evidence/net.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "diagnosis/evidence/unusual_sockets.h"
#include "diagnosis/snapshot/socket_holders.h"
#include "tracee/proc/open_files.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostNetworks = 32;  // searched for other ends
constexpr std::size_t kMostHolders = 8;    // of one socket
constexpr std::size_t kMostBorrowed = 2000;

// What a network namespace has; all that was skipped is recorded.
struct ListedSocket {
  std::unordered_map<std::uint64_t, TcpSocket> tcp, udp;
  std::unordered_map<std::uint64_t, UnixSocket> local;
  bool tcp_by_diag = true;
  bool unix_by_diag = true;
};

ListedSocket list_sockets(int pid, Deadline deadline, SeenNet& net);
SeenSocket seen_socket(int pid,
                       std::uint64_t inode,
                       std::vector<int> fds,
                       const ListedSocket& listed);
void borrow(SeenNet& net,
            const NetOptions& options,
            const ListedSocket& listed);
void find_other_ends(SeenNet& net,
                     const ListedSocket& listed,
                     const AllSockets& all,
                     Deadline deadline);
std::string kernel_protocol(int pid, int fd);

}  // namespace

std::string_view source_name(SocketSource source) {
  switch (source) {
    case SocketSource::SockDiag:
      return "sock_diag";
    case SocketSource::Borrowed:
      return "pidfd_getfd";
    case SocketSource::Proc:
      break;
  }
  return "proc";
}

Result<SeenNet> see_net(int pid, const NetOptions& options, Deadline deadline) {
  SeenNet net{.pid = pid, .name = TRY(read_status(pid)).name};
  const OpenFiles open = TRY(read_open_files(pid));
  net.network = TRY(network_namespace(pid));
  net.ours = net.network == network_namespace(::getpid()).value_or(0);
  if (!open.complete) {
    net.skipped.emplace_back("it has more descriptors, which were not read");
  }
  std::map<std::uint64_t, std::vector<int>> fds;
  for (const OpenFile& file : open.files) {
    if (file.kind == FileKind::Socket) {
      fds[file.inode].push_back(file.fd);
    }
  }
  if (fds.empty()) {
    return net;
  }
  const ListedSocket listed = list_sockets(pid, deadline, net);
  for (auto& [inode, numbers] : fds) {
    net.sockets.push_back(seen_socket(pid, inode, std::move(numbers), listed));
  }
  borrow(net, options, listed);
  auto interfaces = read_interfaces(pid, deadline);
  if (interfaces) {
    net.interfaces = *std::move(interfaces);
  } else {
    net.skipped.push_back("its interfaces: " + interfaces.error().text());
  }
  const AllSockets all = read_all_sockets(deadline);
  net.unseen = all.unseen;
  find_other_ends(net, listed, all, deadline);
  for (SeenSocket& socket : net.sockets) {
    if (socket.inet) {
      const Interface* const own =
          interface_of(net.interfaces, socket.inet->local);
      socket.interface = own != nullptr ? own->name : "";
    }
    tell_oddities(socket, net.interfaces);
  }
  std::ranges::sort(net.sockets, {}, [](const SeenSocket& one) {
    return std::pair(-one.oddness, one.fds.front());
  });
  return net;
}

namespace {

ListedSocket list_sockets(int pid, Deadline deadline, SeenNet& net) {
  ListedSocket listed;
  const auto take = [&](Result<TcpSockets> read, const char* what, auto& into,
                        bool* by_diag) {
    if (!read) {
      net.skipped.push_back(fmt::format("{}: {}", what, read.error().text()));
      return;
    }
    if (read->why_no_progress) {
      *by_diag = false;
      net.skipped.push_back(fmt::format("{}: sock_diag: {}", what,
                                        read->why_no_progress->text()));
    }
    if (!read->complete) {
      net.skipped.push_back(
          fmt::format("{}: there are more than were read", what));
    }
    for (TcpSocket& socket : read->sockets) {
      into.emplace(socket.inode, std::move(socket));
    }
  };
  bool udp_by_diag = true;
  take(read_tcp_sockets(pid, deadline), "TCP", listed.tcp, &listed.tcp_by_diag);
  take(read_udp_sockets(pid, deadline), "UDP", listed.udp, &udp_by_diag);
  auto local = read_unix_sockets(pid, deadline);
  if (!local) {
    net.skipped.push_back("UNIX sockets: " + local.error().text());
    return listed;
  }
  if (local->why_no_peers) {
    listed.unix_by_diag = false;
    net.skipped.push_back("the other ends of UNIX sockets: sock_diag: " +
                          local->why_no_peers->text());
  }
  for (UnixSocket& socket : local->sockets) {
    listed.local.emplace(socket.inode, std::move(socket));
  }
  return listed;
}

std::string unix_protocol(int type) {
  return type == SOCK_STREAM      ? "UNIX stream"
         : type == SOCK_DGRAM     ? "UNIX datagram"
         : type == SOCK_SEQPACKET ? "UNIX seqpacket"
                                  : "UNIX";
}

SeenSocket seen_socket(int pid,
                       std::uint64_t inode,
                       std::vector<int> fds,
                       const ListedSocket& listed) {
  SeenSocket seen{.inode = inode, .fds = std::move(fds)};
  if (const auto tcp = listed.tcp.find(inode); tcp != listed.tcp.end()) {
    seen.protocol = "TCP";
    seen.inet = tcp->second;
    seen.source =
        listed.tcp_by_diag ? SocketSource::SockDiag : SocketSource::Proc;
  } else if (const auto udp = listed.udp.find(inode); udp != listed.udp.end()) {
    seen.protocol = "UDP";
    seen.inet = udp->second;
    seen.source =
        listed.tcp_by_diag ? SocketSource::SockDiag : SocketSource::Proc;
  } else if (const auto local = listed.local.find(inode);
             local != listed.local.end()) {
    seen.protocol = unix_protocol(local->second.type);
    seen.local = local->second;
    seen.source =
        listed.unix_by_diag ? SocketSource::SockDiag : SocketSource::Proc;
  } else {
    // Not bound yet, of another kind, or of another namespace than the
    // process.
    seen.protocol = kernel_protocol(pid, seen.fds.front());
    seen.source = SocketSource::Proc;
  }
  return seen;
}

// Fills in what sock_diag does not tell: everything, where its namespace may
// not be entered, or the socket was made in another one; else the options.
void borrow(SeenNet& net,
            const NetOptions& options,
            const ListedSocket& listed) {
  std::size_t count = 0;
  std::optional<Error> refused;
  for (SeenSocket& socket : net.sockets) {
    const bool tcp = socket.protocol == "TCP" || socket.protocol == "TCPv6";
    const bool unknown = !socket.inet || !listed.tcp_by_diag;
    if (!tcp || (!unknown && !options.socket_options) || refused) {
      continue;
    }
    if (++count > kMostBorrowed) {
      net.skipped.push_back(
          fmt::format("the options of more than {} sockets", kMostBorrowed));
      break;
    }
    auto borrowed = borrow_tcp_socket(net.pid, socket.fds.front());
    if (!borrowed) {
      if (borrowed.error().id == ErrorId::NotPermitted) {
        refused = borrowed.error();
      }
      continue;
    }
    if (unknown) {
      // Its queues are in /proc as well; what TCP knows, is not.
      borrowed->tcp.inode = socket.inode;
      socket.inet = borrowed->tcp;
      socket.protocol = "TCP";
      socket.source = SocketSource::Borrowed;
    }
    socket.options = borrowed->options;
  }
  if (refused) {
    net.skipped.push_back("what TCP knows of its sockets: " + refused->text());
  }
}

std::vector<SocketHolder> holders_of(std::uint64_t inode,
                                     const AllSockets& all) {
  std::vector<SocketHolder> holders;
  const auto [begin, end] = all.by_inode.equal_range(inode);
  for (auto at = begin; at != end && holders.size() < kMostHolders; ++at) {
    const auto status = read_status(at->second.pid);
    holders.push_back(
        {at->second.pid, at->second.fd, status ? status->name : "?"});
  }
  return holders;
}

using SocketEnds = std::pair<SocketAddress, SocketAddress>;

// Connected sockets by their own end and the other.
std::map<SocketEnds, std::uint64_t> by_ends(
    const std::unordered_map<std::uint64_t, TcpSocket>& sockets) {
  std::map<SocketEnds, std::uint64_t> ends;
  for (const auto& [inode, socket] : sockets) {
    if (socket.remote.port != 0) {
      ends.emplace(SocketEnds{socket.local, socket.remote}, inode);
    }
  }
  return ends;
}

// In its own namespace; for connections that leave it, in those of the other
// processes here.
void find_other_ends(SeenNet& net,
                     const ListedSocket& listed,
                     const AllSockets& all,
                     Deadline deadline) {
  const auto tcp = by_ends(listed.tcp);
  const auto udp = by_ends(listed.udp);
  std::vector<SeenSocket*> outside;
  for (SeenSocket& socket : net.sockets) {
    if (socket.local && socket.local->peer != 0) {
      socket.others = holders_of(socket.local->peer, all);
    }
    if (!socket.inet || socket.inet->remote.port == 0) {
      continue;
    }
    const auto& ends = socket.protocol == "UDP" ? udp : tcp;
    const auto other = ends.find({socket.inet->remote, socket.inet->local});
    if (other != ends.end()) {
      socket.others = holders_of(other->second, all);
    } else if (!socket.inet->remote.is_loopback() && socket.protocol == "TCP") {
      outside.push_back(&socket);
    }
  }
  std::size_t looked = 0;
  for (const auto& [network, pid] : all.networks) {
    if (outside.empty() || deadline.expired() || ++looked > kMostNetworks) {
      break;
    }
    if (network == net.network) {
      continue;
    }
    const auto theirs = read_tcp_sockets(pid, deadline);
    if (!theirs) {
      continue;
    }
    std::unordered_map<std::uint64_t, TcpSocket> sockets;
    for (const TcpSocket& socket : theirs->sockets) {
      sockets.emplace(socket.inode, socket);
    }
    const auto ends = by_ends(sockets);
    std::erase_if(outside, [&](SeenSocket* socket) {
      const auto other = ends.find({socket->inet->remote, socket->inet->local});
      if (other != ends.end()) {
        socket->others = holders_of(other->second, all);
      }
      return other != ends.end();
    });
  }
}

// As the kernel calls it: sockets have it as an attribute of their files.
std::string kernel_protocol(int pid, int fd) {
  const std::string path = fmt::format("/proc/{}/fd/{}", pid, fd);
  std::array<char, 64> name{};
  const ssize_t size = ::getxattr(path.c_str(), "system.sockprotoname",
                                  name.data(), name.size() - 1);
  return size > 0 ? std::string(name.data()) : "socket";
}

}  // namespace
}  // namespace hangdbg
