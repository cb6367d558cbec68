// terminate: only of what we have started.
#include "server/dap/handlers.h"
#include "server/dap/launched_program.h"

namespace hangdbg {

Answer<dap::Terminate> TerminateHandler::handle(DebugSession& session,
                                                Pair::Arguments) {
  if (session.program() == nullptr) {
    co_return fail(ErrorId::Usage,
                   "the program was there before us: it is not ours to end",
                   "disconnect leaves it alone");
  }
  session.program()->terminate();
  co_return dap::Nothing();
}

}  // namespace hangdbg
