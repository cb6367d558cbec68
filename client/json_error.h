// Why something could not be read: what `peek` and `dump` have in their JSON.
#pragma once

#include <string>

#include "base/error.h"

namespace hangdbg {

struct JsonError {
  std::string type;  // an ErrorId's name
  std::string message;
  std::string hint;

  explicit JsonError(const Error& error)
      : type(error_name(error.id)), message(error.text()), hint(error.hint) {}

  template <class V>
  void fields(V& v) {
    v("type", type);
    v("message", message);
    v("hint", hint);
  }
};

}  // namespace hangdbg
