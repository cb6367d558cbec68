#include "server/session/cached_source.h"

#include <chrono>

#include "protocol/requests/cached_source.h"

namespace hangdbg {
namespace {

// A line of source is not worth a longer wait.
constexpr auto kCachedSourcePatience = std::chrono::milliseconds(500);

std::optional<std::string> ask_for_source(Session& session,
                                          const std::string& path) {
  const Deadline deadline = Deadline::in(kCachedSourcePatience);
  if (!session.alive() || session.is_outside() || session.read_only() ||
      !session.need("objects", deadline)) {
    return std::nullopt;
  }
  auto found = session.call<dap::CachedSource>({.path = path}, deadline);
  return found ? std::optional(std::move(found->content)) : std::nullopt;
}

}  // namespace

void use_cached_sources(SourceText& sources, Session& session) {
  sources.ask_for_others([&session](const std::string& path) {
    return ask_for_source(session, path);
  });
}

}  // namespace hangdbg
