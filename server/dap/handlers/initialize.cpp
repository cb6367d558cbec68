// initialize: the editor's name, and our capabilities.
#include "protocol/version.h"
#include "server/dap/handlers.h"

namespace hangdbg {

Answer<dap::Initialize> InitializeHandler::handle(DebugSession& session,
                                                  Pair::Arguments arguments) {
  if (session.phase() != DebugSession::Phase::Connected) {
    co_return fail(ErrorId::BadMessage, "initialize was there already");
  }
  if (arguments.path_format.value_or("path") != "path") {
    co_return fail(ErrorId::BadMessage,
                   "no such pathFormat here: " + *arguments.path_format,
                   "pathFormat: \"path\"");
  }
  session.begin(std::move(arguments));
  dap::Capabilities capabilities = all_capabilities();
  capabilities.version = version();
  capabilities.protocol = kProtocolVersion;
  co_return capabilities;
}

}  // namespace hangdbg
