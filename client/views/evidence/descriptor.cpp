#include "client/views/evidence/descriptor.h"

#include <fmt/core.h>

#include "base/text.h"
#include "tracee/proc/proc_status.h"

namespace hangdbg {
namespace {

std::string pipe_text(const Descriptor& pipe,
                      std::size_t unseen,
                      const Palette& out);
std::string tcp_text(const TcpSocket& socket, const Palette& out);
std::string lock_text(const HeldLock& lock);

}  // namespace

std::string descriptor_text(const Descriptor& one,
                            std::size_t unseen,
                            const Palette& out) {
  const OpenFile& file = one.file;
  std::string text = printable(file.name);
  if (one.tcp) {
    return tcp_text(*one.tcp, out);
  }
  switch (file.kind) {
    case FileKind::Pipe:
    case FileKind::Fifo:
      return pipe_text(one, unseen, out);
    case FileKind::EventFd:
      return file.count ? fmt::format("eventfd, count {}", *file.count)
                        : "eventfd";
    case FileKind::Epoll: {
      std::string watched;
      for (const EpollWatch& watch : file.watches) {
        watched += fmt::format("{}{}", watched.empty() ? "" : ", ", watch.fd);
      }
      return watched.empty() ? "epoll of nothing" : "epoll of " + watched;
    }
    case FileKind::PidFd:
      return !file.pid       ? "pidfd"
             : *file.pid < 0 ? "pidfd of a process that has ended"
                             : fmt::format("pidfd of {}", *file.pid);
    default:
      break;
  }
  if (file.deleted) {
    text += ", " + out.red("deleted");
  }
  for (const HeldLock& lock : file.locks) {
    text += ", " + out.bold(lock_text(lock));
  }
  return text;
}

std::string mode_of(const OpenFile& file) {
  return file.reads() && file.writes() ? "rw" : file.writes() ? "w" : "r";
}

reports::Descriptor to_json(const Descriptor& from) {
  const OpenFile& file = from.file;
  reports::Descriptor json{.fd = file.fd,
                           .kind = std::string(file_kind_name(file.kind)),
                           .name = to_utf8(file.name),
                           .mode = mode_of(file),
                           .deleted = file.deleted};
  json.position = static_cast<std::int64_t>(file.position);
  json.count = file.count;
  json.pid = file.pid;
  for (const EpollWatch& watch : file.watches) {
    json.watches.push_back(watch.fd);
  }
  for (const HeldLock& lock : file.locks) {
    json.locks.push_back({lock.type, lock.write,
                          static_cast<std::int64_t>(lock.start), lock.end});
  }
  if (from.tcp) {
    json.tcp = {from.tcp->local.text(),
                from.tcp->remote.text(),
                std::string(tcp_state_name(from.tcp->state)),
                from.tcp->unread,
                from.tcp->unacknowledged,
                from.tcp->retransmits};
  }
  if (file.is_pipe()) {
    json.other_ends.emplace();
    for (const PipeEnd& end : from.other_ends) {
      json.other_ends->push_back({end.pid, end.fd});
    }
  }
  return json;
}

namespace {

// The other processes that have it open, each once.
std::string pipe_text(const Descriptor& pipe,
                      std::size_t unseen,
                      const Palette& out) {
  std::string text = (pipe.file.kind == FileKind::Fifo ? "FIFO " : "") +
                     printable(pipe.file.name);
  if (pipe.other_ends.empty()) {
    const std::string who = pipe.file.reads() ? "writes to" : "reads from";
    return text + ", " +
           (unseen == 0 ? out.red("nobody " + who + " it")
                        : fmt::format("no process found that {} it ({} "
                                      "processes are not readable)",
                                      who, unseen));
  }
  text += pipe.file.reads() ? ", written by" : ", read by";
  int last = 0;
  for (const PipeEnd& end : pipe.other_ends) {
    if (end.pid == last) {
      text += fmt::format(" and {}", end.fd);
      continue;
    }
    // Its command line would be read from its memory, which may not answer.
    const auto status = read_status(end.pid);
    text += fmt::format("{} {} ({}) fd {}", last == 0 ? "" : ",", end.pid,
                        status ? printable(status->name) : "?", end.fd);
    last = end.pid;
  }
  return text;
}

std::string tcp_text(const TcpSocket& socket, const Palette& out) {
  if (socket.state == TcpState::Listen) {
    return fmt::format("TCP {} {}", socket.local.text(),
                       tcp_state_name(socket.state));
  }
  std::string text =
      fmt::format("TCP {} - {} {}", socket.local.text(), socket.remote.text(),
                  tcp_state_name(socket.state));
  if (socket.unread > 0) {
    text += fmt::format(", {} bytes unread", socket.unread);
  }
  if (socket.unacknowledged > 0) {
    text += fmt::format(", {} bytes not acknowledged", socket.unacknowledged);
  }
  if (socket.retransmits > 0) {
    text +=
        ", " + out.red(fmt::format("sent again {} times", socket.retransmits));
  }
  return text;
}

std::string lock_text(const HeldLock& lock) {
  const std::string part =
      lock.start == 0 && !lock.end ? "" : " on a part of it";
  return fmt::format("{} {} lock{}", lock.type, lock.write ? "write" : "read",
                     part);
}

}  // namespace
}  // namespace hangdbg
