// How `hangdbg dist` calls things, in its findings and below them.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "client/views/dist/report.h"

namespace hangdbg {

// "group 0"
std::string group_words(const GroupProgress& group);

// "rank 1 -> rank 2: 96 bytes have come, and are not read, for 12 s"
std::string flow_words(const DistReport& report, const PeerFlow& flow);

// The place of the program: in its own code, if it has any.
const PythonFrame* program_frame(const DistThread& thread);

std::string duration_words(std::chrono::milliseconds duration);

}  // namespace hangdbg
