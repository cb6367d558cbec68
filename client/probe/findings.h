// What is wrong between the nodes of a probe, from what all of them have seen.
// Nothing is read here.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "protocol/reports/net_probe.h"

namespace hangdbg {

// What becomes of connections from one node to another, or to a service.
struct ProbedPair {
  std::string result;   // of the address that does best
  std::string address;  // that one
  std::string error;
  double connected_ms = 0;

  bool good() const { return result == "whole" || result == "accepted"; }
};

using ProbedPairs = std::map<std::pair<std::string, std::string>, ProbedPair>;

ProbedPairs pairs_of(const reports::NetProbe& probe);

// Fills `findings` and `notes`: failing pairs first.
void find_faults(reports::NetProbe& probe);

// "no answer", "large packets are lost on the way there".
std::string result_text(const std::string& result, const std::string& error);

// Addresses of a node by which the others can reach it: of interfaces that are
// up, and no address that another node has as well (of a bridge of containers).
std::map<std::string, std::vector<std::string>> reachable_addresses(
    const std::vector<reports::ProbedNode>& nodes);

}  // namespace hangdbg
