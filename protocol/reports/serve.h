// What `serve --json` writes once it listens.
#pragma once

#include <optional>
#include <string>

#include "protocol/version.h"

namespace hangdbg::reports {

struct Listening {
  std::string address;
  std::optional<std::string> token;  // if it is ours, and one is needed
  std::optional<std::string> fingerprint;
  std::string version = hangdbg::version();
  int protocol = kProtocolVersion;

  template <class V>
  void fields(V& v) {
    v("address", address);
    v.nullable("token", token);
    v.nullable("fingerprint", fingerprint);
    v("version", version);
    v("protocol", protocol);
  }
};

}  // namespace hangdbg::reports
