// What is known of a process, as names and values that can be compared. What is
// never the same twice - numbers of processes, addresses, times, ports - is
// left out, or made the same.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "client/views/diff/side.h"

namespace hangdbg {

// A group's name ("libraries") and one's in it ("libnccl.so.2"), and what it
// is.
using Facts = std::map<std::pair<std::string, std::string>, std::string>;

// Of all: where it was made, and of which versions.
Facts shared_facts(const Side& side);

// Of one of its processes.
Facts process_facts(const Side& side, const reports::DumpedProcess& process);

// Text with each number and address as "N".
std::string without_numbers(std::string_view text);

}  // namespace hangdbg
