// What `net --json` writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hangdbg::reports {

// What TCP_INFO says; times in milliseconds.
struct NetProgress {
  // Null: nothing has been sent yet, or come.
  std::optional<std::int64_t> last_sent_ms, last_received_ms, last_answered_ms;
  double rto_ms = 0, rtt_ms = 0;
  std::int64_t congestion_window = 0, unacknowledged_segments = 0;
  std::int64_t lost = 0, backoff = 0, probes = 0, total_retransmits = 0;
  std::optional<std::int64_t> peer_window, bytes_acknowledged, bytes_received,
      unsent;

  template <class V>
  void fields(V& v) {
    v.nullable("last_sent_ms", last_sent_ms);
    v.nullable("last_received_ms", last_received_ms);
    v.nullable("last_answered_ms", last_answered_ms);
    v("rto_ms", rto_ms);
    v("rtt_ms", rtt_ms);
    v("congestion_window", congestion_window);
    v("unacknowledged_segments", unacknowledged_segments);
    v("lost", lost);
    v("backoff", backoff);
    v("probes", probes);
    v("total_retransmits", total_retransmits);
    v.nullable("peer_window", peer_window);
    v.nullable("bytes_acknowledged", bytes_acknowledged);
    v.nullable("bytes_received", bytes_received);
    v.nullable("unsent", unsent);
  }
};

struct NetOptions {
  bool keeps_alive = false;
  std::int64_t keep_idle_s = 0;
  std::optional<std::int64_t> user_timeout_ms, receive_timeout_ms,
      send_timeout_ms;
  std::string device;

  template <class V>
  void fields(V& v) {
    v("keep_alive", keeps_alive);
    v("keep_idle_s", keep_idle_s);
    v.nullable("user_timeout_ms", user_timeout_ms);
    v.nullable("receive_timeout_ms", receive_timeout_ms);
    v.nullable("send_timeout_ms", send_timeout_ms);
    v("device", device);
  }
};

struct NetHolder {
  std::int64_t pid = 0, fd = 0;
  std::string name;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("fd", fd);
    v("name", name);
  }
};

struct NetSocket {
  std::int64_t inode = 0;
  std::vector<int> fds;
  std::string protocol, source;
  std::optional<std::string> state, local, remote, timer, path;
  std::optional<std::int64_t> timer_ms, unread, unacknowledged, retransmits;
  std::optional<std::int64_t> waiting, backlog;  // of one that listens
  std::optional<std::string> interface;
  std::optional<NetProgress> tcp_info;
  std::optional<NetOptions> options;
  std::vector<NetHolder> others;
  std::vector<std::string> odd;

  template <class V>
  void fields(V& v) {
    v("inode", inode);
    v("fds", fds);
    v("protocol", protocol);
    v("source", source);
    v("state", state);
    v("local", local);
    v("remote", remote);
    v("path", path);
    v("unread", unread);
    v("unacknowledged", unacknowledged);
    v("retransmits", retransmits);
    v("waiting", waiting);
    v("backlog", backlog);
    v("timer", timer);
    v("timer_ms", timer_ms);
    v("interface", interface);
    v("tcp_info", tcp_info);
    v("options", options);
    v("others", others);
    v("odd", odd);
  }
};

struct NetInterface {
  std::string name;
  bool up = false, running = false;
  std::vector<std::string> addresses;

  template <class V>
  void fields(V& v) {
    v("name", name);
    v("up", up);
    v("running", running);
    v("addresses", addresses);
  }
};

struct Net {
  std::int64_t pid = 0, network_namespace = 0;
  bool ours = true;
  std::vector<NetSocket> sockets;
  std::vector<NetInterface> interfaces;
  std::int64_t unseen = 0;
  std::vector<std::string> skipped;

  template <class V>
  void fields(V& v) {
    v("pid", pid);
    v("network_namespace", network_namespace);
    v("our_namespace", ours);
    v("sockets", sockets);
    v("interfaces", interfaces);
    v("unseen", unseen);
    v("skipped", skipped);
  }
};

}  // namespace hangdbg::reports
