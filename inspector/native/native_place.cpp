#include "inspector/native/native_place.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "tracee/elf/elf_symbols.h"

namespace hangdbg {
namespace {

std::optional<NativePlace> describe(const MemoryReader& memory,
                                    const std::vector<Module>& modules,
                                    std::span<const NativeFrame> frames,
                                    const HiddenName& hidden) {
  const NativeFrame& innermost = frames.front();
  if (!innermost.module) {
    return {};
  }
  const Module& module = modules[*innermost.module];
  const std::string file = module.path.substr(module.path.rfind('/') + 1);
  NativePlace place;
  place.module = *innermost.module;
  place.text = fmt::format("{}+{:#x}", file, innermost.pc - module.base);
  const auto image = ElfImage::read(memory, module.base);
  if (!image) {
    return place;
  }
  for (const NativeFrame& frame : frames) {
    if (frame.module != innermost.module) {
      break;
    }
    auto name = image->function_at(memory, frame.code());
    if (!name && hidden) {
      name = hidden(place.module, frame.code());
    }
    if (name) {
      place.function = &frame == &innermost ? *name : "";
      place.text = fmt::format("{} ({})", *name, file);
      break;
    }
  }
  return place;
}

}  // namespace

std::optional<NativePlace> native_place(const MemoryReader& memory,
                                        const std::vector<Module>& modules,
                                        const user_regs_struct& registers,
                                        const HiddenName& hidden,
                                        Deadline deadline) {
  NativeUnwinder unwinder(memory, modules);
  const auto stack = unwinder.unwind(registers, deadline);
  return stack ? describe(memory, modules, stack->frames, hidden)
               : std::nullopt;
}

std::optional<NativePlace> native_place(const MemoryReader& memory,
                                        const std::vector<Module>& modules,
                                        Address pc,
                                        const HiddenName& hidden) {
  const auto module = std::ranges::find_if(
      modules, [&](const Module& one) { return one.contains(pc); });
  if (module == modules.end()) {
    return {};
  }
  const NativeFrame only{
      pc, {}, static_cast<std::size_t>(module - modules.begin()), true};
  return describe(memory, modules, std::span(&only, 1), hidden);
}

}  // namespace hangdbg
