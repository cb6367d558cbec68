#include "client/commands/dap.h"

#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/thread_pool.hpp>
#include <memory>

#include "client/options/options.h"
#include "server/dap/debug_session.h"
#include "server/dap/stream_transport.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace {

struct DapOptions {
  CommonOptions common;
};

int run(const DapOptions& options);
Status serve(const DapOptions& options);

}  // namespace

void add_dap(cli::Command program) {
  const auto options = std::make_shared<DapOptions>();
  const cli::Command command = program.add_command(
      "dap", "Serve one editor over stdin and stdout (DAP)");
  add_common_options(command, options->common);
  command.footer(
      "Examples:\n"
      "  hangdbg dap --log=dap:trace 2>/tmp/dap.log\n"
      "\n"
      "Set this as the command of the debug adapter in the editor's "
      "configuration. The attach request gives the PID as processId. --timeout "
      "applies to each request.");
  command.runs([options] { return run(*options); });
}

namespace {

int run(const DapOptions& options) {
  const Status served = serve(options);
  return served
             ? 0
             : report(served.error(), Palette(options.common.colour, stderr));
}

Status serve(const DapOptions& options) {
  TRY(options.common.configure_log());
  using Stream = asio::posix::stream_descriptor;
  asio::io_context io{1};
  asio::thread_pool pool(1);
  const int input = ::dup(STDIN_FILENO);
  const int output = ::dup(STDOUT_FILENO);
  if (input < 0 || output < 0) {
    return fail_errno("cannot duplicate stdin and stdout");
  }
  DebugSession session({io, pool, options.common.deadline().left()},
                       std::make_unique<StreamTransport<Stream>>(
                           Stream(io, input), Stream(io, output)));
  asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&](boost::system::error_code error, int) {
    if (!error) {
      session.stop();
    }
  });
  asio::co_spawn(io, session.run(),
                 [&](const std::exception_ptr&) { signals.cancel(); });
  io.run();
  return {};
}

}  // namespace
}  // namespace hangdbg
