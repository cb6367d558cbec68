// Whether nodes reach each other: a listener that the others connect to, and
// connections to all of them, at the same time, until a deadline.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/result.h"

namespace hangdbg {

// What became of one connection.
enum class Reach {
  Whole,      // it was accepted, and full packets pass both ways
  Accepted,   // it was accepted, and closed again: of no node
  Refused,    // nothing listens there, or a firewall says so
  NoAnswer,   // to SYN
  NoRoute,    // the kernel knows no way there
  Silent,     // accepted; then nothing came
  LostThere,  // small packets pass, full ones do not get there
  LostBack,   // full ones get there, and do not come back
  OtherNode,  // another node answers at this address
  OtherProgram,
  Failed,  // otherwise: ProbeOutcome::error
};

// "whole", "no-answer": as in JSON.
std::string_view reach_name(Reach reach);
std::optional<Reach> reach_of_name(std::string_view name);

struct ProbeTarget {
  std::string address;  // "10.0.0.3", "fd00::3"
  std::uint16_t port = 0;
  std::optional<int> node;  // its number; none: it is only connected to
};

struct ProbeOutcome {
  Reach reach = Reach::NoAnswer;
  int error = 0;        // errno
  double took_ms = 0;   // until it was accepted
  int segment = 0;      // bytes of a full one; 0: not connected
  int other_node = -1;  // OtherNode: which
};

struct ProbeParty {
  std::string secret;  // kProbeSecret digits, the same for all
  int number = 0;      // of this node
  int count = 1;       // of all nodes
};

struct ProbeListener {
  Fd socket;
  std::uint16_t port = 0;
};

// On all addresses of this machine; 0: on a port that the kernel chooses.
// Errors: System, with EADDRINUSE.
Result<ProbeListener> open_probe_listener(std::uint16_t port);

// In the order of `targets`. Ends when all targets have been tried and all
// other nodes have been here, or at the deadline. Nothing stays open.
std::vector<ProbeOutcome> exchange_with_nodes(
    ProbeListener listener,
    const ProbeParty& party,
    const std::vector<ProbeTarget>& targets,
    Deadline deadline);

}  // namespace hangdbg
