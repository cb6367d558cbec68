#include "client/commands/fds.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/in_time.h"
#include "base/text.h"
#include "client/only_hung.h"
#include "inspector/descriptors.h"
#include "protocol/json.h"
#include "tracee/proc_file.h"
#include "tracee/proc_status.h"

namespace hangdbg {
namespace {

struct Options {
  CommonOptions common;
  TargetOption target;
};

// As JSON has it.
struct JsonEnd {
  std::int64_t pid = 0;
  std::int64_t fd = 0;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("fd", fd);
  }
};

struct JsonTcp {
  std::string local, remote, state;
  std::int64_t unread = 0;
  std::int64_t unacknowledged = 0;
  std::int64_t retransmits = 0;

  template <class V>
  void fields(V& v) {
    v("local", local);
    v("remote", remote);
    v("state", state);
    v("unread", unread);
    v("unacknowledged", unacknowledged);
    v("retransmits", retransmits);
  }
};

struct JsonLock {
  std::string type;
  bool write = false;
  std::int64_t start = 0;
  std::optional<std::int64_t> end;

  template <class V>
  void fields(V& v) {
    v("type", type);
    v("write", write);
    v("start", start);
    v.nullable("end", end);
  }
};

struct JsonDescriptor {
  std::int64_t fd = 0;
  std::string kind, name, mode;
  bool deleted = false;
  std::int64_t position = 0;
  std::optional<std::int64_t> count, pid;
  std::vector<int> watches;
  std::vector<JsonLock> locks;
  std::optional<JsonTcp> tcp;
  std::optional<std::vector<JsonEnd>> other_ends;

  template <class V>
  void fields(V& v) {
    v("fd", fd);
    v("kind", kind);
    v("name", name);
    v("mode", mode);
    v("deleted", deleted);
    v("position", position);
    v("count", count);
    v("pid", pid);
    v("watches", watches);
    v("locks", locks);
    v("tcp", tcp);
    v("other_ends", other_ends);
  }
};

struct JsonDescriptors {
  std::int64_t pid = 0;
  std::vector<JsonDescriptor> descriptors;
  bool complete = true;
  std::int64_t unseen = 0;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("descriptors", descriptors);
    v("complete", complete);
    v("unseen", unseen);
  }
};

int run(const Options& options);
Result<int> show(const Options& options);
int print(const Options& options, int pid, const Descriptors& found);
JsonDescriptor to_json(const Descriptor& from);
std::string mode_of(const OpenFile& file);
std::string text_of(const Descriptor& one,
                    const Descriptors& all,
                    const Palette& out);
std::string pipe_text(const Descriptor& pipe,
                      const Descriptors& all,
                      const Palette& out);
std::string tcp_text(const TcpSocket& socket, const Palette& out);
std::string lock_text(const HeldLock& lock);

}  // namespace

void add_fds(CLI::App& app, Run& chosen) {
  const auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand(
      "fds", "What each open descriptor leads to, and who has the other end");
  add_pid_option(command, options->target);
  add_json_option(command, options->common);
  add_common_options(command, options->common);
  command.footer(
      "Files with the locks that are held on them, pipes with the processes at "
      "their\n"
      "other end, both ends of TCP connections with what lies in their queues, "
      "what an\n"
      "epoll set watches. The kernel tells it: nothing is stopped, no code "
      "runs, "
      "and no\n"
      "file is touched, so a dead mount holds nobody up.\n"
      "Without a PID the only process that hangs is meant.\n"
      "Examples:\n"
      "  hangdbg fds 79655\n"
      "  hangdbg fds 79655 --json");
  command.final_callback(
      [options, &chosen] { chosen = [options] { return run(*options); }; });
}

namespace {

int run(const Options& options) {
  const auto code = show(options);
  return code ? *code
              : report(code.error(), Palette(options.common.colour, stderr));
}

Result<int> show(const Options& options) {
  TRY(options.common.configure_log());
  const Deadline deadline = options.common.deadline();
  const int pid = TRY(chosen_process(options.target, deadline));
  TRY(read_status(pid));  // whether there is one
  return in_time<Result<Descriptors>>(
      deadline,
      [&] {
        // In time to tell what was found so far.
        return read_descriptors(pid, deadline.capped(deadline.left() * 9 / 10));
      },
      [&](std::optional<Result<Descriptors>> found) {
        const Palette err(options.common.colour, stderr);
        if (!found) {
          return report(
              {.id = ErrorId::TimedOut,
               .message = fmt::format("the kernel did not tell the descriptors "
                                      "of {} in time",
                                      pid),
               .hint = fmt::format("hangdbg fds {} --timeout 60", pid)},
              err);
        }
        if (!*found && found->error().id == ErrorId::NotPermitted) {
          found->error().hint = fmt::format("sudo hangdbg fds {}", pid);
        }
        return *found ? print(options, pid, **found)
                      : report(found->error(), err);
      });
}

int print(const Options& options, int pid, const Descriptors& found) {
  if (options.common.json) {
    JsonDescriptors json{.pid = pid, .complete = found.complete};
    json.unseen = static_cast<std::int64_t>(found.unseen);
    for (const Descriptor& one : found.descriptors) {
      json.descriptors.push_back(to_json(one));
    }
    print_now(stdout, encode(json).dump() + "\n");
    return 0;
  }
  const Palette out(options.common.colour, stdout);
  std::string text =
      out.bold(fmt::format("Process {} · {} descriptor{}", pid,
                           found.descriptors.size(),
                           found.descriptors.size() == 1 ? "" : "s")) +
      "\n";
  for (const Descriptor& one : found.descriptors) {
    text += fmt::format("{:>5}  {:<3}  {}\n", one.file.fd, mode_of(one.file),
                        text_of(one, found, out));
  }
  print_now(stdout, text);
  if (!found.complete) {
    fmt::print(stderr, "there are more, which were not read\n");
  }
  return 0;
}

JsonDescriptor to_json(const Descriptor& from) {
  const OpenFile& file = from.file;
  JsonDescriptor json{.fd = file.fd,
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
  if (file.kind == FileKind::Pipe) {
    json.other_ends.emplace();
    for (const PipeEnd& end : from.other_ends) {
      json.other_ends->push_back({end.pid, end.fd});
    }
  }
  return json;
}

std::string mode_of(const OpenFile& file) {
  return file.reads() && file.writes() ? "rw" : file.writes() ? "w" : "r";
}

std::string text_of(const Descriptor& one,
                    const Descriptors& all,
                    const Palette& out) {
  const OpenFile& file = one.file;
  std::string text = printable(file.name);
  if (one.tcp) {
    return tcp_text(*one.tcp, out);
  }
  switch (file.kind) {
    case FileKind::Pipe:
      return pipe_text(one, all, out);
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

// Whose it is else, each process once.
std::string pipe_text(const Descriptor& pipe,
                      const Descriptors& all,
                      const Palette& out) {
  std::string text = printable(pipe.file.name);
  if (pipe.other_ends.empty()) {
    const std::string who = pipe.file.reads() ? "writes to" : "reads from";
    return text + ", " +
           (all.unseen == 0
                ? out.red("nobody " + who + " it")
                : fmt::format("nobody that we may see {} it ({} processes "
                              "may not be looked into)",
                              who, all.unseen));
  }
  text += pipe.file.reads() ? ", written by" : ", read by";
  int last = 0;
  for (const PipeEnd& end : pipe.other_ends) {
    if (end.pid == last) {
      text += fmt::format(" and {}", end.fd);
      continue;
    }
    const auto words = read_command_line(end.pid);
    text += fmt::format(
        "{} {} ({}) fd {}", last == 0 ? "" : ",", end.pid,
        words.empty() ? "?"
                      : printable(words[0].substr(words[0].rfind('/') + 1)),
        end.fd);
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
