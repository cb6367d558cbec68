#include "client/commands/serve.h"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "base/fd.h"
#include "client/options/options.h"
#include "protocol/json.h"
#include "protocol/reports/serve.h"
#include "protocol/version.h"
#include "server/dap/access.h"
#include "server/dap/server.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace {

struct ServeOptions {
  CommonOptions common;
  std::string listen;
  std::string certificate;
  std::string key;
  std::string token_file;
  bool until_eof = false;
};

// Attaches that may be under way at once.
constexpr std::size_t kPoolThreads = 4;

int run(const ServeOptions& options);
Status serve(const ServeOptions& options);
asio::awaitable<void> stop_at_eof(asio::posix::stream_descriptor& input,
                                  Server& server);
void tell(const reports::Listening& listening, bool json);
bool is_unix(const ListenAddress& address);
Result<std::optional<Tls>> encryption(const ServeOptions& options,
                                      const ListenAddress& address);

}  // namespace

void add_serve(cli::Command program) {
  const auto options = std::make_shared<ServeOptions>();
  const cli::Command command = program.add_command(
      "serve", "Listen for editors that connect over a socket (DAP)");
  command
      .add_option("--listen", options->listen,
                  "Listen at unix:PATH, tcp:ADDRESS:PORT or ws:ADDRESS:PORT "
                  "(port 0: any free port)")
      .type_name("WHERE")
      .required();
  const cli::Option certificate =
      command
          .add_option("--tls-cert", options->certificate,
                      "Use TLS with this certificate (PEM)")
          .type_name("FILE");
  const cli::Option key =
      command
          .add_option("--tls-key", options->key,
                      "Private key of the certificate (PEM)")
          .type_name("FILE");
  certificate.needs(key);
  key.needs(certificate);
  command
      .add_option("--token-file", options->token_file,
                  "Read the token from FILE (default: from HANGDBG_TOKEN, else "
                  "a random one)")
      .type_name("FILE");
  command.add_flag(
      "--until-eof", options->until_eof,
      "Exit at the end of standard input, with the program that started this");
  add_common_options(command, options->common);
  add_json_option(command, options->common);
  command.footer(
      "Examples:\n"
      "  hangdbg serve --listen tcp:127.0.0.1:5678\n"
      "  hangdbg serve --listen tcp:0.0.0.0:5678 --tls-cert cert.pem --tls-key "
      "key.pem\n"
      "\n"
      "Only this user may connect to a Unix socket. On a port, other users "
      "need the printed token, as \"token\" in the attach request; so does a "
      "connection through `ssh -L`. An address that other machines can reach "
      "needs a certificate, and everybody who connects there needs the token.");
  command.runs([options] { return run(*options); });
}

namespace {

int run(const ServeOptions& options) {
  const Status served = serve(options);
  return served
             ? 0
             : report(served.error(), Palette(options.common.colour, stderr));
}

Status serve(const ServeOptions& options) {
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
  asio::posix::stream_descriptor input(io);
  // The reader of this may end us at once.
  tell(
      {.address = to_text(server->address()),
       .token = given || is_unix(address) ? std::nullopt : std::optional(token),
       .fingerprint = tls ? std::optional(tls->fingerprint()) : std::nullopt},
      options.common.json);
  asio::co_spawn(io, server->run(), [&](const std::exception_ptr&) {
    signals.cancel();
    input.close();
  });
  if (options.until_eof) {
    // A descriptor of its own: what is done to it is not done to the caller's.
    boost::system::error_code closed;
    input.assign(Fd(::dup(STDIN_FILENO)).release(), closed);
    if (closed) {
      server->stop();
    } else {
      asio::co_spawn(io, stop_at_eof(input, *server), asio::detached);
    }
  }
  io.run();
  return {};
}

asio::awaitable<void> stop_at_eof(asio::posix::stream_descriptor& input,
                                  Server& server) {
  constexpr auto kToken = asio::as_tuple(asio::use_awaitable);
  for (;;) {
    // Asio cannot wait for what epoll refuses: /dev/null and files, which are
    // always ready.
    pollfd ready{input.native_handle(), POLLIN, 0};
    if (::poll(&ready, 1, 0) == 0) {
      const auto [error] = co_await input.async_wait(
          asio::posix::stream_descriptor::wait_read, kToken);
      if (error) {
        co_return;
      }
    }
    char ignored[256];
    const auto size = ::read(input.native_handle(), ignored, sizeof ignored);
    if (size == 0 || (size < 0 && errno != EINTR && errno != EAGAIN)) {
      co_return server.stop();
    }
    // What never ends (/dev/zero) holds no session up.
    co_await asio::post(asio::use_awaitable);
  }
}

void tell(const reports::Listening& listening, bool json) {
  if (json) {
    print_json(encode(listening));
  } else {
    say(stderr, "listening at {}{}{}\n", listening.address,
        listening.token ? " token " + *listening.token : std::string(),
        listening.fingerprint ? " fingerprint " + *listening.fingerprint
                              : std::string());
  }
}

bool is_unix(const ListenAddress& address) {
  return std::holds_alternative<asio::local::stream_protocol::endpoint>(
      address);
}

Result<std::optional<Tls>> encryption(const ServeOptions& options,
                                      const ListenAddress& address) {
  if (options.certificate.empty()) {
    if (is_public(address)) {
      return fail(ErrorId::Usage,
                  to_text(address) +
                      " can be reached from other machines: this needs TLS",
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
