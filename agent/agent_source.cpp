#include "agent/agent_source.h"

#include <cstring>

// Sent on demand, each in a file of its own (agent_source.S).
#define HANGDBG_AGENT_MODULES(X) \
  X(breakpoints)                 \
  X(completions)                 \
  X(data_breakpoints)            \
  X(debugged)                    \
  X(engine)                      \
  X(exceptions)                  \
  X(meanings)                    \
  X(modules)                     \
  X(monitoring)                  \
  X(objects)                     \
  X(coordination)                \
  X(owner)                       \
  X(process_groups)              \
  X(pdb_stops)                   \
  X(raising)                     \
  X(reloading)                   \
  X(spawning)                    \
  X(starters)                    \
  X(step_targets)                \
  X(stepping)                    \
  X(stops)                       \
  X(tracing)                     \
  X(waits)

#define HANGDBG_DECLARE(name)               \
  extern const char hangdbg_agent_##name[]; \
  extern const char hangdbg_agent_##name##_end[];

extern "C" {
HANGDBG_DECLARE(core)
HANGDBG_DECLARE(compiled)
HANGDBG_DECLARE(package)
HANGDBG_DECLARE(start)
HANGDBG_AGENT_MODULES(HANGDBG_DECLARE)
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
#define HANGDBG_FIND(module)                                       \
  if (name == #module) {                                           \
    return {hangdbg_agent_##module, hangdbg_agent_##module##_end}; \
  }
  HANGDBG_AGENT_MODULES(HANGDBG_FIND)
  return {};
}

std::string_view package_source() {
  return {hangdbg_agent_package, hangdbg_agent_package_end};
}

std::string_view start_source() {
  return {hangdbg_agent_start, hangdbg_agent_start_end};
}

}  // namespace hangdbg
