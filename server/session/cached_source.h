// Where a file cannot be read, a prompt shows what the program itself keeps of
// its source (protocol/requests/cached_source.h).
#pragma once

#include "server/session/session.h"
#include "server/session/source_text.h"

namespace hangdbg {

// `session` outlives the last call of `sources`.
void use_cached_sources(SourceText& sources, Session& session);

}  // namespace hangdbg
