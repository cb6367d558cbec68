// terminate: only of what we have started.
#include "server/dap/handlers.h"

namespace hangdbg {

Answer<dap::Terminate> TerminateHandler::handle(DebugSession&,
                                                Pair::Arguments) {
  co_return fail(ErrorId::Usage,
                 "the program was there before us: it is not ours to end",
                 "disconnect leaves it alone");
}

}  // namespace hangdbg
