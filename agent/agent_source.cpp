#include "agent/agent_source.h"

extern "C" {
extern const char hangdbg_agent_core[];
extern const char hangdbg_agent_core_end[];
extern const char hangdbg_agent_completions[];
extern const char hangdbg_agent_completions_end[];
extern const char hangdbg_agent_objects[];
extern const char hangdbg_agent_objects_end[];
}

namespace hangdbg {

std::string_view agent_core_source() {
  return {hangdbg_agent_core, hangdbg_agent_core_end};
}

std::string_view agent_module_source(std::string_view name) {
  if (name == "completions")
    return {hangdbg_agent_completions, hangdbg_agent_completions_end};
  if (name == "objects")
    return {hangdbg_agent_objects, hangdbg_agent_objects_end};
  return {};
}

}  // namespace hangdbg
