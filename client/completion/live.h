// What there is on this machine now, as values for a command line: processes,
// those that hang first, jobs, a job's ranks, a process's threads.
#pragma once

#include "client/completion/completion.h"

namespace hangdbg {

// LiveValues. Within a second, or less is told.
std::vector<Candidate> values_here(std::string_view kind,
                                   const TypedBefore& before);

}  // namespace hangdbg
