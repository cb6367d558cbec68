// The agent: Python that the bootstrap runs inside the target.
//
// Embedded in this program (agent_source.S), so that nothing else need exist on
// the machine or in the target.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace hangdbg {

// The core's text, for any version: defines handle() and forget().
std::string_view agent_core_source();

// The core as one version of CPython had it compiled: marshal's bytes of a
// code object, for interpreters with that magic number
// (PyImport_GetMagicNumber) and no other.
struct CompiledCore {
  std::uint32_t minor = 0;
  std::uint32_t magic = 0;
  std::string_view code;
};

// For this minor version, if the machine that built us had it; else empty.
CompiledCore agent_compiled_core(int minor);

// What the request hangdbg/load brings later, a file of agent/ by its name:
// "completions", "breakpoints", ... Empty for any other name.
std::string_view agent_module_source(std::string_view name);

// Of the child of `hangdbg run` (python/): the package hangdbg, and what starts
// the script.
std::string_view package_source();
std::string_view start_source();

}  // namespace hangdbg
