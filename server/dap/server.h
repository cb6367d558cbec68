// Server: editors' sessions on one listening socket, as many as come.
//
// Threads: only the one that runs the io_context.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "base/result.h"
#include "server/coroutines/task_group.h"
#include "server/dap/debug_session.h"
#include "server/dap/listen_address.h"
#include "server/dap/strangers.h"
#include "server/dap/tls.h"

namespace hangdbg {

class Server {
 public:
  // Listens. `token` is for those who are not the same user; over TLS, for all.
  // Errors: System, Usage.
  static Result<std::unique_ptr<Server>> open(DebugSession::Machine machine,
                                              const ListenAddress& address,
                                              std::string token,
                                              std::optional<Tls> tls);
  ~Server();

  // Where; with the port that the kernel chose, if that was left to it.
  ListenAddress address() const;

  // Until stop(); ends when all agents have left.
  boost::asio::awaitable<void> run();
  void stop();

 private:
  using Unix = boost::asio::local::stream_protocol;
  using Tcp = boost::asio::ip::tcp;
  using Acceptor = std::variant<Unix::acceptor, Tcp::acceptor>;

  Server(DebugSession::Machine machine,
         Acceptor acceptor,
         bool websocket,
         std::string token,
         std::optional<Tls> tls);
  template <class Protocol>
  boost::asio::awaitable<void> accept(
      boost::asio::basic_socket_acceptor<Protocol>& acceptor);
  // `stranger`: null of one that is known.
  template <class Socket>
  boost::asio::awaitable<void> serve(Socket socket,
                                     std::unique_ptr<Strangers::One> stranger);
  boost::asio::awaitable<std::unique_ptr<Transport>> shake_hands(
      Tcp::socket socket) const;

  DebugSession::Machine machine_;
  Acceptor acceptor_;
  bool websocket_;
  std::string token_;
  std::optional<Tls> tls_;
  DetachedChildren left_;
  bool stopped_ = false;
  std::set<DebugSession*> sessions_;
  Strangers strangers_;
  TaskGroup running_;
};

}  // namespace hangdbg
