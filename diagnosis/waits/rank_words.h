// Texts about the ranks of a job.
#pragma once

#include <cstddef>
#include <string>

#include "diagnosis/snapshot/cause.h"
#include "diagnosis/waits/rendezvous.h"
#include "inspector/ranks/rank_set.h"

namespace hangdbg {

// "rank 3", "ranks 0-2,5"
std::string ranks_text(const RankSet& ranks);

// "ranks 0-2 wait for it"
std::string waits_text(const RankSet& waiting, std::size_t awaited);

// Of a meeting that has one.
Cause mismatch_cause(const Meeting& meeting);

}  // namespace hangdbg
