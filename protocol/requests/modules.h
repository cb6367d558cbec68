// The modules that the program has loaded.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "protocol/module.h"

namespace hangdbg::dap {

struct Modules {
  static constexpr std::string_view command = "modules";

  struct Arguments {
    std::optional<std::int64_t> start_module;
    std::optional<std::int64_t> module_count;  // 0 or absent: all

    template <class V>
    void fields(V& v) {
      v("startModule", start_module);
      v("moduleCount", module_count);
    }
  };

  struct Body {
    std::vector<Module> modules;
    std::optional<std::int64_t> total_modules;

    template <class V>
    void fields(V& v) {
      v("modules", modules);
      v("totalModules", total_modules);
    }
  };
};

}  // namespace hangdbg::dap
