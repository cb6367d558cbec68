#include "inspector/native_names.h"

#include <fmt/core.h>

#include <string_view>

#include "inspector/demangle.h"
#include "tracee/function_names.h"

namespace hangdbg {
namespace {

std::string file_name(std::string path) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (path.ends_with(kDeleted)) {
    path.resize(path.size() - kDeleted.size());
  }
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

std::string NativeSymbol::text() const {
  if (!builtin.empty()) {
    return fmt::format("{} ({})", builtin, module);
  }
  if (module.empty()) {
    return fmt::format("{:#x}", offset);
  }
  return function.empty() ? fmt::format("{}+{:#x}", module, offset)
                          : fmt::format("{} ({})", function, module);
}

void NativeNames::learn(std::span<const NativeStack> stacks) {
  std::map<std::size_t, std::vector<Address>> by_module;
  for (const NativeStack& stack : stacks) {
    for (const NativeFrame& frame : stack.frames) {
      const Address code = frame.code();
      const auto [at, is_new] = names_.try_emplace(code);
      if (!is_new) {
        continue;
      }
      at->second.offset = code.value;
      if (frame.module) {
        const Module& module = modules_[*frame.module];
        at->second.module = file_name(module.path);
        at->second.offset = code - module.base;
        by_module[*frame.module].push_back(code);
      }
    }
  }
  for (const auto& [module, code] : by_module) {
    for (const auto& [at, name] :
         function_names(files_, memory_, modules_[module], code)) {
      names_.at(at).function = demangle(name);
    }
  }
}

const NativeSymbol& NativeNames::name(const NativeFrame& frame) const {
  static const NativeSymbol unknown;
  const auto found = names_.find(frame.code());
  return found != names_.end() ? found->second : unknown;
}

}  // namespace hangdbg
