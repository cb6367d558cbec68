#include "agent/agent_source.h"

#include <cstring>

extern "C" {
extern const char hangdbg_agent_core[];
extern const char hangdbg_agent_core_end[];
extern const char hangdbg_agent_completions[];
extern const char hangdbg_agent_completions_end[];
extern const char hangdbg_agent_engine[];
extern const char hangdbg_agent_engine_end[];
extern const char hangdbg_agent_modules[];
extern const char hangdbg_agent_modules_end[];
extern const char hangdbg_agent_objects[];
extern const char hangdbg_agent_objects_end[];
extern const char hangdbg_agent_stepping[];
extern const char hangdbg_agent_stepping_end[];
extern const char hangdbg_agent_compiled[];
extern const char hangdbg_agent_compiled_end[];
}

namespace hangdbg {
namespace {

// As scripts/assemble-agent writes them.
struct Row {
  std::uint32_t minor;
  std::uint32_t magic;
  std::uint32_t offset;
  std::uint32_t size;
};

}  // namespace

std::string_view agent_core_source() {
  return {hangdbg_agent_core, hangdbg_agent_core_end};
}

CompiledCore agent_compiled_core(int minor) {
  std::uint32_t count = 0;
  std::memcpy(&count, hangdbg_agent_compiled, sizeof count);
  for (std::uint32_t i = 0; i < count; ++i) {
    Row row{};
    std::memcpy(&row, hangdbg_agent_compiled + sizeof count + i * sizeof row,
                sizeof row);
    if (row.minor == static_cast<std::uint32_t>(minor)) {
      return {row.minor,
              row.magic,
              {hangdbg_agent_compiled + row.offset, row.size}};
    }
  }
  return {};
}

std::string_view agent_module_source(std::string_view name) {
  if (name == "completions")
    return {hangdbg_agent_completions, hangdbg_agent_completions_end};
  if (name == "engine")
    return {hangdbg_agent_engine, hangdbg_agent_engine_end};
  if (name == "modules")
    return {hangdbg_agent_modules, hangdbg_agent_modules_end};
  if (name == "objects")
    return {hangdbg_agent_objects, hangdbg_agent_objects_end};
  if (name == "stepping")
    return {hangdbg_agent_stepping, hangdbg_agent_stepping_end};
  return {};
}

}  // namespace hangdbg
