// Who may have a session: the same user, whom the kernel knows; and a client
// with the token, since a forwarded port's connection is another user's.
#pragma once

#include <sys/types.h>

#include <boost/asio/ip/tcp.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hangdbg {

// 256 random bits, as hexadecimal digits. Error: System.
Result<std::string> make_token();

// What the file holds, which no other user may read, or HANGDBG_TOKEN does;
// nothing, if neither is there. Error: Usage.
Result<std::optional<std::string>> given_token(const std::string& file);

// Takes as long whatever is wrong with `given`.
bool is_token(std::string_view given, std::string_view token);

// The user at the other end of a socket. Nothing: it is not on this machine, or
// in another network namespace.
std::optional<uid_t> user_of_unix_peer(int socket);
std::optional<uid_t> user_of_tcp_peer(
    const boost::asio::ip::tcp::endpoint& peer,
    const boost::asio::ip::tcp::endpoint& here);

// The users who listen there, in our network namespace.
std::vector<uid_t> users_who_listen(
    const boost::asio::ip::tcp::endpoint& endpoint);

// We, or root; not a user without a name in our user namespace.
bool is_trusted(std::optional<uid_t> user);

}  // namespace hangdbg
