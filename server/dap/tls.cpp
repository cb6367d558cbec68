#include "server/dap/tls.h"

#include <fmt/core.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <array>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/verify_context.hpp>
#include <cctype>

#include "base/text.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace {

using Context = asio::ssl::context;

std::shared_ptr<Context> make_context(Context::method method) {
  ::OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  auto context = std::make_shared<Context>(method);
  ::SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  return context;
}

std::string fingerprint_of(const X509* certificate) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  std::string text;
  if (certificate != nullptr &&
      ::X509_digest(certificate, ::EVP_sha256(), digest.data(), &size) == 1) {
    for (unsigned i = 0; i < size; ++i) {
      text += fmt::format("{:02x}", digest[i]);
    }
  }
  return text;
}

std::unexpected<Error> unusable(const std::string& file,
                                const boost::system::error_code& error) {
  return fail(ErrorId::Usage,
              fmt::format("{}: {}", printable(file), error.message()),
              "a PEM file is wanted");
}

}  // namespace

Tls::Tls(std::shared_ptr<Context> context) : context_(std::move(context)) {}

Result<Tls> Tls::server(const std::string& certificate_file,
                        const std::string& key_file) {
  Tls tls(make_context(Context::tls_server));
  boost::system::error_code error;
  struct stat key {};
  for (const std::string& file : {certificate_file, key_file}) {
    if (::stat(file.c_str(), &key) == 0 && !S_ISREG(key.st_mode)) {
      return fail(ErrorId::Usage, printable(file) + " is no regular file",
                  "a PEM file is wanted");
    }
  }
  // No password prompt.
  tls.context_->set_password_callback(
      [](std::size_t, Context::password_purpose) { return std::string(); },
      error);
  tls.context_->use_certificate_chain_file(certificate_file, error);
  if (error) {
    return unusable(certificate_file, error);
  }
  tls.context_->use_private_key_file(key_file, Context::pem, error);
  if (error) {
    return unusable(key_file, error);
  }
  if ((key.st_mode & 07) != 0) {
    return fail(ErrorId::Usage, printable(key_file) + " can be read by others",
                "chmod 600 " + shell_quote(key_file));
  }
  tls.fingerprint_ =
      fingerprint_of(::SSL_CTX_get0_certificate(tls.context_->native_handle()));
  return tls;
}

Result<Tls> Tls::client_of(const std::string& authorities_file,
                           const asio::ip::address& address) {
  Tls tls(make_context(Context::tls_client));
  boost::system::error_code error;
  tls.context_->load_verify_file(authorities_file, error);
  if (error) {
    return unusable(authorities_file, error);
  }
  tls.context_->set_verify_mode(asio::ssl::verify_peer);
  X509_VERIFY_PARAM* const wanted =
      ::SSL_CTX_get0_param(tls.context_->native_handle());
  ::X509_VERIFY_PARAM_set1_ip_asc(wanted, address.to_string().c_str());
  ::X509_VERIFY_PARAM_set_flags(wanted, X509_V_FLAG_PARTIAL_CHAIN);
  return tls;
}

Result<Tls> Tls::client_of(const std::string& fingerprint) {
  std::string digits;
  for (const char c : fingerprint) {
    if (c != ':') {  // as openssl prints it
      digits += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  if (digits.size() != 64 ||
      digits.find_first_not_of("0123456789abcdef") != digits.npos) {
    return fail(ErrorId::Usage, "no fingerprint: " + printable(fingerprint),
                "the 64 digits that `hangdbg serve` prints");
  }
  Tls tls(make_context(Context::tls_client));
  tls.context_->set_verify_mode(asio::ssl::verify_peer);
  // Whatever its signer and its content: it is the right one.
  tls.context_->set_verify_callback([digits](bool,
                                             asio::ssl::verify_context& chain) {
    X509_STORE_CTX* const handle = chain.native_handle();
    return ::X509_STORE_CTX_get_error_depth(handle) > 0 ||
           fingerprint_of(::X509_STORE_CTX_get_current_cert(handle)) == digits;
  });
  return tls;
}

std::unexpected<Error> handshake_failed(
    const boost::system::error_code& error) {
  if (error.category() != asio::error::get_ssl_category() ||
      ERR_GET_REASON(static_cast<unsigned long>(error.value())) !=
          SSL_R_CERTIFICATE_VERIFY_FAILED) {
    return fail(ErrorId::ChannelClosed,
                "the server speaks no TLS: " + error.message(),
                "without --fingerprint and --cacert, through ssh -L");
  }
  return fail(ErrorId::NotPermitted,
              "not the server that was asked for: " + error.message(),
              "--fingerprint, as `hangdbg serve` prints it, or --cacert");
}

}  // namespace hangdbg
