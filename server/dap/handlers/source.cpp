// source: the text of a file that only the target can see.
#include <fmt/core.h>

#include "protocol/requests/cached_source.h"
#include "server/coroutines/co_try.h"
#include "server/dap/handlers.h"
#include "tracee/program/target_text.h"

namespace hangdbg {

Answer<dap::SourceText> SourceHandler::handle(DebugSession& session,
                                              Pair::Arguments arguments) {
  const auto reference = arguments.source && arguments.source->source_reference
                             ? *arguments.source->source_reference
                             : arguments.source_reference;
  auto path = session.translation().path_of(reference);
  if (!path && arguments.source && arguments.source->path) {
    path = session.translation().path_of(*arguments.source->path);
  }
  if (!path) {
    co_return fail(ErrorId::Usage,
                   fmt::format("no source has the number {}", reference));
  }
  const int pid = session.agent().target().pid;
  dap::SourceText::Body body;
  body.content = co_await session.on_pool([&] {
    return read_target_text(fmt::format("/proc/{}/root", pid), pid, *path);
  });
  if (body.content.empty()) {
    CO_CHECK(co_await session.agent().need("objects", session.deadline()));
    dap::CachedSource::Arguments question{*path};
    CO_TRY(auto cached, co_await session.agent().call<dap::CachedSource>(
                            std::move(question), session.deadline()));
    body.content = std::move(cached.content);
  }
  if (body.content.empty()) {
    co_return fail(ErrorId::Unreadable, "cannot be read: " + *path);
  }
  body.mime_type = "text/x-python";
  co_return body;
}

}  // namespace hangdbg
