#include "inspector/native/native_names.h"

#include <fmt/core.h>

#include <string_view>

#include "inspector/native/demangle.h"
#include "tracee/elf/function_names.h"
#include "tracee/elf/source_lines.h"

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

std::string NativeSymbol::name() const {
  if (!builtin.empty() || !function.empty()) {
    return builtin.empty() ? function : builtin;
  }
  return module.empty() ? fmt::format("{:#x}", offset)
                        : fmt::format("{}+{:#x}", module, offset);
}

std::string NativeSymbol::text() const {
  return builtin.empty() && function.empty()
             ? name()
             : fmt::format("{} ({})", name(), module);
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
    for (auto& [at, source] :
         source_lines(files_, memory_, modules_[module], code)) {
      names_.at(at).file = source.file;
      names_.at(at).line = source.line;
    }
  }
}

const NativeSymbol& NativeNames::name(const NativeFrame& frame) const {
  static const NativeSymbol unknown;
  const auto found = names_.find(frame.code());
  return found != names_.end() ? found->second : unknown;
}

}  // namespace hangdbg
