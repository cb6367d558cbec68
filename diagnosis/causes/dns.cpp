// A name is looked up, and the DNS server does not answer: by getaddrinfo(3) of
// the C library, c-ares (aiodns, pycares), or dnspython. Each asks by UDP, and
// by TCP what is long; glibc and c-ares connect their sockets, so that the
// kernel knows which server it is. The wait ends by itself, by timeouts.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/causes/socket_peer.h"
#include "diagnosis/waits/awaited_files.h"
#include "tracee/proc/proc_file.h"

namespace hangdbg::causes {
namespace {

constexpr std::uint16_t kDnsPort = 53;

struct Query {
  AwaitedFile file;
  TcpSocket socket;
  bool udp = true;
};

bool is_connected(const TcpSocket& socket) {
  return socket.remote.port != 0;
}

// The function of Python that looks a name up.
const PythonFrame* lookup_frame(const ThreadSnapshot& thread) {
  const PythonFrame* const found =
      thread.find("getaddrinfo", "/socket.py", /*depth=*/1);
  return found != nullptr ? found : thread.find("udp", "/dns/query.py");
}

// `socket.gethostbyname()` leaves no frame. Source: res_send.c of glibc,
// res_msend.c of musl.
bool is_in_resolver(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const auto functions = of.native(thread);
  return std::ranges::any_of(functions, [](const std::string& one) {
    return one.find("__res_") != std::string::npos ||
           one.find("send_dg") != std::string::npos ||
           one.find("send_vc") != std::string::npos;
  });
}

std::optional<Query> query_of(const ProcessSnapshot& of,
                              const ThreadSnapshot& thread,
                              const AwaitedFile& awaited) {
  if (awaited.file.kind != FileKind::Socket) {
    return std::nullopt;
  }
  if (const auto tcp = of.system.tcp_socket(of.pid, awaited.file.inode)) {
    return tcp->remote.port == kDnsPort && tcp->state != TcpState::Listen
               ? std::optional(Query{awaited, *tcp, false})
               : std::nullopt;
  }
  const auto udp = of.system.udp_socket(of.pid, awaited.file.inode);
  if (!udp) {
    return std::nullopt;
  }
  const bool is_query = is_connected(*udp) ? udp->remote.port == kDnsPort
                                           : lookup_frame(thread) != nullptr ||
                                                 is_in_resolver(of, thread);
  return is_query ? std::optional(Query{awaited, *udp, true}) : std::nullopt;
}

// The servers that an unconnected socket may have queried (resolv.conf(5)).
std::vector<std::string> configured_servers(int pid) {
  std::vector<std::string> servers;
  const std::string text =
      read_proc_file(pid, "root/etc/resolv.conf").value_or("");
  for (const std::string_view line : split(text, '\n')) {
    const auto words = split_words(line);
    if (words.size() > 1 && words[0] == "nameserver") {
      servers.emplace_back(words[1]);
    }
  }
  return servers;
}

std::string server_text(const ProcessSnapshot& of,
                        const ThreadSnapshot& thread,
                        const std::vector<Query>& queries) {
  std::set<std::string> servers;
  for (const Query& one : queries) {
    if (is_connected(one.socket)) {
      servers.insert(one.socket.remote.text());
    }
  }
  const PythonFrame* const frame = thread.find("udp", "/dns/query.py");
  if (const auto where =
          frame != nullptr ? of.text(*frame, "where") : std::nullopt) {
    servers.insert(printable(*where));
  }
  if (servers.empty()) {
    for (const std::string& one : configured_servers(of.pid)) {
      servers.insert(printable(one));
    }
  }
  return servers.empty()
             ? std::string("a DNS server")
             : fmt::format("the DNS server{} {}", servers.size() > 1 ? "s" : "",
                           fmt::join(servers, ", "));
}

// The name, where a frame of Python has it: "db.prod.internal".
std::optional<std::string> name_of(const ProcessSnapshot& of,
                                   const ThreadSnapshot& thread) {
  if (const PythonFrame* const frame =
          thread.find("getaddrinfo", "/socket.py", /*depth=*/1)) {
    return of.text(*frame, "host");
  }
  const PythonFrame* const frame = thread.find("resolve", "/dns/resolver.py");
  return frame != nullptr ? of.text(*frame, "qname") : std::nullopt;
}

// A server of this machine, as systemd-resolved or dnsmasq are.
void lead_to_server(const ProcessSnapshot& of,
                    const Query& query,
                    Cause& cause) {
  const auto peer = query.udp ? of.system.udp_peer(of.pid, query.socket)
                              : of.system.tcp_peer(of.pid, query.socket);
  for (const SocketFd& holder :
       peer ? peer->holders : std::vector<SocketFd>()) {
    const ThreadId id{holder.pid, holder.pid};
    if (holder.pid != of.pid &&
        std::ranges::find(cause.blocked_by, id) == cause.blocked_by.end()) {
      cause.blocked_by.push_back(id);
      cause.evidence.push_back(fmt::format(
          "{} has that address, fd {}", process_text(holder.pid), holder.fd));
    }
  }
  cause.any_unblocks = true;
}

// What a thread waits for, if that is an answer of DNS and nothing else.
std::vector<Query> queries_of(const ProcessSnapshot& of,
                              const ThreadSnapshot& thread) {
  const AwaitedFiles awaited = awaited_files(of, thread);
  constexpr std::size_t kFew = 8;
  if (awaited.files.empty() || awaited.files.size() > kFew) {
    return {};
  }
  std::vector<Query> queries;
  for (const AwaitedFile& file : awaited_from_others(of, awaited)) {
    if (file.file.kind == FileKind::Inotify) {
      continue;  // c-ares watches its configuration by it
    }
    auto query = query_of(of, thread, file);
    if (!query) {
      return {};
    }
    queries.push_back(*std::move(query));
  }
  return queries;
}

// Another thread that resolves the name for an event loop, and wakes the loop
// with the answer: one of asyncio's pool, or of c-ares.
const ThreadSnapshot* asks_for(const ProcessSnapshot& of,
                               const ThreadSnapshot& thread) {
  const AwaitedFiles awaited = awaited_files(of, thread);
  if (!thread.python || awaited.files.empty() ||
      !awaited_from_others(of, awaited).empty()) {
    return nullptr;
  }
  const auto asks =
      std::ranges::find_if(of.threads, [&](const ThreadSnapshot& one) {
        return one.id != thread.id && !queries_of(of, one).empty();
      });
  return asks == of.threads.end() ? nullptr : &*asks;
}

Cause waits_for_answer(const ProcessSnapshot& of,
                       const ThreadSnapshot& thread,
                       const std::vector<Query>& queries) {
  constexpr double kSoon = 1;  // seconds: most answers arrive sooner
  const bool late = thread.wait.asleep_s >= kSoon;
  const auto name = name_of(of, thread);
  Cause cause{.id = CauseId::Dns,
              .progress = Progress::Blocked,
              .confidence = late ? Confidence::Likely : Confidence::Possible};
  cause.summary = fmt::format(
      "waits for {}, which {}{}", server_text(of, thread, queries),
      late ? "does not answer" : "has not answered yet",
      name ? fmt::format(": it looks up {}", printable(*name)) : "");
  for (const Query& one : queries) {
    cause.evidence.push_back(fmt::format(
        "fd {}: {} {}, at {}", one.file.file.fd, one.udp ? "UDP" : "TCP",
        is_connected(one.socket)
            ? fmt::format("{} -> {}", one.socket.local.text(),
                          one.socket.remote.text())
            : one.socket.local.text() + ", not connected",
        thread.place()));
    lead_to_server(of, one, cause);
  }
  if (awaited_files(of, thread).with_time) {
    cause.evidence.push_back(
        "the call has a timeout: the resolver asks again, or gives up");
  }
  cause.next.push_back(
      {fmt::format("cat /proc/{}/root/etc/resolv.conf", of.pid),
       "which DNS servers it asks, and for how long"});
  return cause;
}

}  // namespace

Found dns(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const auto queries = queries_of(of, thread);
  if (!queries.empty()) {
    return waits_for_answer(of, thread, queries);
  }
  const ThreadSnapshot* const asks = asks_for(of, thread);
  if (asks == nullptr) {
    return std::nullopt;
  }
  Cause cause = waits_for_answer(of, *asks, queries_of(of, *asks));
  // The loop may wait for something else as well.
  cause.confidence = Confidence::Possible;
  cause.evidence.push_back(fmt::format(
      "it is {} that asks; this one waits for its own process alone",
      asks->who()));
  return cause;
}

}  // namespace hangdbg::causes
