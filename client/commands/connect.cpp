#include "client/commands/connect.h"

#include <fmt/core.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <memory>

#include "client/options/options.h"
#include "client/options/prompt_options.h"
#include "client/prompt/remote_prompt.h"
#include "server/dap/access.h"
#include "server/dap/dial.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace {

struct ConnectOptions {
  CommonOptions common;
  std::string address;
  std::string pid;
  PromptOptions prompt;
  std::string token_file;
  std::string authorities;
  std::string fingerprint;
};

int run(const ConnectOptions& options);
Result<int> connect(const ConnectOptions& options);
Result<std::optional<Tls>> encryption(const ConnectOptions& options,
                                      const ListenAddress& address);
dap::Terminal::Arguments wanted(const ConnectOptions& options,
                                std::optional<std::string> token);

}  // namespace

void add_connect(cli::Command program) {
  const auto options = std::make_shared<ConnectOptions>();
  const cli::Command command = program.add_command(
      "connect",
      "Open the prompt of `attach` through a remote `hangdbg serve`");
  command
      .add_option("ADDRESS", options->address,
                  "unix:PATH, tcp:ADDRESS:PORT or ws:ADDRESS:PORT")
      .required();
  command
      .add_option(
          "PID", options->pid,
          "PID on the server's machine (default: the only hung process)")
      .type_name("NUMBER");
  add_prompt_options(command, options->prompt);
  command
      .add_option(
          "--token-file", options->token_file,
          "Read the server's token from FILE (default: from HANGDBG_TOKEN)")
      .type_name("FILE");
  const cli::Option authorities =
      command
          .add_option(
              "--cacert", options->authorities,
              "Use TLS; trust servers signed by these authorities (PEM)")
          .type_name("FILE");
  command
      .add_option("--fingerprint", options->fingerprint,
                  "Use TLS; trust the server that printed this fingerprint")
      .type_name("HEX")
      .excludes(authorities);
  add_common_options(command, options->common);
  command.footer(
      "Examples:\n"
      "  hangdbg connect unix:/run/hangdbg 79655\n"
      "  ssh -fNL 5678:127.0.0.1:5678 node7; hangdbg connect "
      "tcp:127.0.0.1:5678 79655\n"
      "  hangdbg connect tcp:10.0.0.7:5678 --fingerprint 5d0c...\n"
      "\n"
      "`attach` runs on the server's machine, as the server's user; the "
      "terminal is here. Ctrl-] disconnects at any time.");
  command.runs([options] { return run(*options); });
}

namespace {

int run(const ConnectOptions& options) {
  const auto code = connect(options);
  return code ? *code
              : report(code.error(), Palette(options.common.colour, stderr));
}

Result<int> connect(const ConnectOptions& options) {
  TRY(options.common.configure_log());
  const auto address = TRY(parse_listen_address(options.address));
  const auto tls = TRY(encryption(options, address));
  auto token = TRY(given_token(options.token_file));
  if (!options.pid.empty()) {
    TRY(parse_pid(options.pid));
  }
  const Sends sends = token ? Sends::Secret : Sends::Nothing;
  const auto attach = wanted(options, std::move(token));
  asio::io_context io{1};
  Result<int> code = fail(ErrorId::System, "an exception in a coroutine");
  const auto session = [&]() -> asio::awaitable<void> {
    const Deadline deadline = options.common.deadline();
    auto transport = co_await dial(io, address, tls, sends, deadline);
    if (!transport) {
      code = std::unexpected(transport.error());
      co_return;
    }
    RemotePrompt prompt(io, *std::move(transport));
    const bool reads_input = options.prompt.commands.empty() || attach.screen;
    code = co_await prompt.run(attach, reads_input, deadline);
  };
  asio::co_spawn(io, session(), asio::detached);
  io.run();
  return code;
}

Result<std::optional<Tls>> encryption(const ConnectOptions& options,
                                      const ListenAddress& address) {
  const auto host = host_of(address);
  if (!options.fingerprint.empty() && host) {
    return TRY(Tls::client_of(options.fingerprint));
  }
  if (!options.authorities.empty() && host) {
    return TRY(Tls::client_of(options.authorities, *host));
  }
  if (is_public(address)) {
    return fail(
        ErrorId::Usage,
        to_text(address) + " is another machine: the connection needs TLS",
        "--fingerprint as printed by `hangdbg serve`, or --cacert; or ssh -L "
        "5678:127.0.0.1:5678");
  }
  return std::nullopt;
}

// What `attach` is told there.
dap::Terminal::Arguments wanted(const ConnectOptions& options,
                                std::optional<std::string> token) {
  dap::Terminal::Arguments terminal;
  terminal.token = std::move(token);
  auto& words = terminal.arguments;
  if (!options.pid.empty()) {
    words.push_back(options.pid);
  }
  for (const std::string& command : options.prompt.commands) {
    words.insert(words.end(), {"-c", command});
  }
  if (!options.prompt.place.thread.empty()) {
    words.push_back("--thread=" + options.prompt.place.thread);
  }
  words.push_back("--frame=" + options.prompt.place.frame.text());
  words.push_back(fmt::format("--timeout={}", options.common.timeout_s));
  if (options.common.colour != ColourChoice::Auto) {
    words.push_back(options.common.colour == ColourChoice::Always
                        ? "--color=always"
                        : "--color=never");
  }
  if (::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1) {
    terminal.screen = size_of_terminal();
    const char* const kind = std::getenv("TERM");
    terminal.term = kind == nullptr ? "dumb" : kind;
  }
  return terminal;
}

}  // namespace
}  // namespace hangdbg
