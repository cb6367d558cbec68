// Tls: what each end of an encrypted connection proves, and asks the other to
// prove. TLS 1.2 at least; OpenSSL's configuration files are not read.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <boost/system/error_code.hpp>
#include <memory>
#include <string>

#include "base/result.h"

namespace boost::asio::ssl {  // its headers are long
class context;
}

namespace hangdbg {

class Tls {
 public:
  // A server with that certificate, and those after it in the file, and its
  // key; PEM. Error: Usage.
  static Result<Tls> server(const std::string& certificate_file,
                            const std::string& key_file);

  // What a client accepts as the server: a certificate for `address` that one
  // in that file has signed, or that is in it ...
  static Result<Tls> client_of(const std::string& authorities_file,
                               const boost::asio::ip::address& address);
  // ... or whose certificate has this fingerprint. Error: Usage.
  static Result<Tls> client_of(const std::string& fingerprint);

  // Of the server's certificate: 64 hexadecimal digits of SHA-256.
  const std::string& fingerprint() const { return fingerprint_; }

  boost::asio::ssl::context& context() const { return *context_; }

 private:
  explicit Tls(std::shared_ptr<boost::asio::ssl::context> context);

  std::shared_ptr<boost::asio::ssl::context> context_;
  std::string fingerprint_;
};

// Why a client's handshake failed. NotPermitted: it is another server;
// ChannelClosed.
std::unexpected<Error> handshake_failed(const boost::system::error_code& error);

}  // namespace hangdbg
