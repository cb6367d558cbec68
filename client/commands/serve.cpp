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
  std::string certificate;
  std::string key;
  std::string token_file;
};

// Attaches that may be under way at once.
constexpr std::size_t kPoolThreads = 4;

int run(const Options& options);
Status serve(const Options& options);
bool is_unix(const ListenAddress& address);
Result<std::optional<Tls>> encryption(const Options& options,
                                      const ListenAddress& address);

}  // namespace

void add_serve(CLI::App& app, Run& chosen) {
  const auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand(
      "serve", "Sessions for editors that connect: DAP on a socket");
  command
      .add_option("--listen", options->listen,
                  "unix:PATH, tcp:ADDRESS:PORT or ws:ADDRESS:PORT (0: any)")
      ->type_name("WHERE")
      ->required();
  auto* const certificate =
      command
          .add_option("--tls-cert", options->certificate,
                      "Encrypt, with this certificate (PEM)")
          ->type_name("FILE");
  auto* const key =
      command
          .add_option("--tls-key", options->key, "The certificate's key (PEM)")
          ->type_name("FILE");
  certificate->needs(key);
  key->needs(certificate);
  command
      .add_option("--token-file", options->token_file,
                  "Use the token in this file, or in HANGDBG_TOKEN")
      ->type_name("FILE");
  add_common_options(command, options->common);
  command.footer(
      "A socket's file is ours alone. On a port, who is another user needs the "
      "token\n"
      "that is printed, as \"token\" in the attach request: what comes through "
      "`ssh -L` does. An address that other machines reach needs a "
      "certificate; who comes\n"
      "there needs the token always.\n"
      "Examples:\n"
      "  hangdbg serve --listen tcp:127.0.0.1:5678\n"
      "  hangdbg serve --listen tcp:0.0.0.0:5678 --tls-cert cert.pem --tls-key "
      "key.pem");
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
  const auto tls = TRY(encryption(options, address));
  const auto given = TRY(given_token(options.token_file));
  const auto token = given ? *given : TRY(make_token());
  asio::io_context io{1};
  asio::thread_pool pool(kPoolThreads);
  const auto server = TRY(Server::open(
      {io, pool, options.common.deadline().left()}, address, token, tls));
  asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&](boost::system::error_code error, int) {
    if (!error) {
      server->stop();
    }
  });
  // Whoever reads this may end us at once.
  fmt::print(stderr, "listening at {}{}{}\n", to_text(server->address()),
             given || is_unix(address) ? std::string() : " token " + token,
             tls ? " fingerprint " + tls->fingerprint() : std::string());
  asio::co_spawn(io, server->run(),
                 [&](const std::exception_ptr&) { signals.cancel(); });
  io.run();
  return {};
}

bool is_unix(const ListenAddress& address) {
  return std::holds_alternative<asio::local::stream_protocol::endpoint>(
      address);
}

Result<std::optional<Tls>> encryption(const Options& options,
                                      const ListenAddress& address) {
  if (options.certificate.empty()) {
    if (is_public(address)) {
      return fail(ErrorId::Usage,
                  to_text(address) +
                      " can be reached from other machines: that needs TLS",
                  "openssl req -x509 -newkey rsa:3072 -nodes -days 365 -subj "
                  "/CN=hangdbg -keyout key.pem -out cert.pem, then --tls-cert "
                  "cert.pem --tls-key key.pem");
    }
    return std::nullopt;
  }
  if (is_unix(address)) {
    return fail(ErrorId::Usage, "a Unix socket is not encrypted",
                "--listen tcp:ADDRESS:PORT or ws:ADDRESS:PORT");
  }
  return TRY(Tls::server(options.certificate, options.key));
}

}  // namespace
}  // namespace hangdbg
