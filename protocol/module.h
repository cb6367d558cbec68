// A Python module that the program has loaded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hangdbg::dap {

struct Module {
  std::int64_t id = 0;
  std::string name;
  std::optional<std::string> path;
  std::optional<bool> is_user_code;
  std::optional<std::string> version;

  template <class V>
  void fields(V& v) {
    v("id", id);
    v("name", name);
    v("path", path);
    v("isUserCode", is_user_code);
    v("version", version);
  }
};

}  // namespace hangdbg::dap
