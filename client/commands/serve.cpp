#include "client/commands/serve.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/thread_pool.hpp>
#include <memory>

#include "server/dap/access.h"
#include "server/dap/server.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace {

struct Options {
  CommonOptions common;
  std::string listen;
};

// Attaches that may be under way at once.
constexpr std::size_t kPoolThreads = 4;

int run(const Options& options);
Status serve(const Options& options);

}  // namespace

void add_serve(CLI::App& app, Run& chosen) {
  const auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand(
      "serve", "Sessions for editors that connect: DAP on a socket");
  command
      .add_option("--listen", options->listen,
                  "unix:PATH, tcp:127.0.0.1:PORT or ws:127.0.0.1:PORT (0: any)")
      ->type_name("WHERE")
      ->required();
  add_common_options(command, options->common);
  command.footer(
      "A socket's file is ours alone. On a port, who is another user needs the "
      "token\n"
      "that is printed, as \"token\" in the attach request: what comes through "
      "`ssh -L` does.\n"
      "Example:\n"
      "  hangdbg serve --listen tcp:127.0.0.1:5678");
  command.final_callback(
      [options, &chosen] { chosen = [options] { return run(*options); }; });
}

namespace {

int run(const Options& options) {
  const Status served = serve(options);
  return served
             ? 0
             : report(served.error(), Palette(options.common.colour, stderr));
}

Status serve(const Options& options) {
  TRY(options.common.configure_log());
  const auto address = TRY(parse_listen_address(options.listen));
  const auto token = TRY(make_token());
  asio::io_context io{1};
  asio::thread_pool pool(kPoolThreads);
  const auto server = TRY(Server::open(
      {io, pool, options.common.deadline().left()}, address, token));
  asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&](boost::system::error_code error, int) {
    if (!error) {
      server->stop();
    }
  });
  // Whoever reads this may end us at once.
  fmt::print(
      stderr, "listening at {}{}\n", to_text(server->address()),
      std::holds_alternative<asio::local::stream_protocol::endpoint>(address)
          ? std::string()
          : " token " + token);
  asio::co_spawn(io, server->run(),
                 [&](const std::exception_ptr&) { signals.cancel(); });
  io.run();
  return {};
}

}  // namespace
}  // namespace hangdbg
