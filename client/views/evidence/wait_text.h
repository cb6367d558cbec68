// What a thread waits for, in one line.
#pragma once

#include <cstddef>
#include <string>

#include "diagnosis/evidence/threads.h"

namespace hangdbg {

// "the RLock `lock`, held by thread 12 "worker""; "recvfrom 5 = TCP ..."; ""
// of one that runs.
std::string wait_text(const SeenThread& thread, std::size_t unseen_pipes);

// The same for samples to be grouped by: with nothing that changes while it
// waits. "waits for the RLock ...", "waits in recvfrom, 5 = TCP ...".
std::string wait_reason(const SeenThread& thread, std::size_t unseen_pipes);

}  // namespace hangdbg
