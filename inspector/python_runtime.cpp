#include "inspector/python_runtime.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace hangdbg {
namespace {

constexpr const char* kPySpyHint = "py-spy dump --pid PID can show its stacks";

// Where to look first: a torch process has 500 modules, and asking each for a
// symbol would take longer than all the rest.
int rank(const Module& module) {
  const std::string_view path = module.path;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (name.starts_with("libpython")) {
    return 0;
  }
  if (name.starts_with("python")) {
    return 1;
  }
  return name.find(".so") == name.npos ? 2 : 3;
}

std::vector<std::size_t> likely_first(const std::vector<Module>& modules) {
  std::vector<std::size_t> order(modules.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {},
                           [&](std::size_t i) { return rank(modules[i]); });
  return order;
}

std::unexpected<Error> too_old(const char* version) {
  return fail(
      ErrorId::UnsupportedPython,
      fmt::format("python {} is too old, 3.7 to 3.14 are supported", version),
      kPySpyHint);
}

// Each minor version brought a function; the newest one present tells.
PythonVersion version_by_symbols(const MemoryReader& memory,
                                 const ElfImage& image) {
  static constexpr std::array<std::pair<const char*, int>, 3> kSince = {{
      {"PyIter_Send", 10},
      {"PyFrame_GetBack", 9},
      {"PyCode_NewWithPosOnlyArgs", 8},
  }};
  for (const auto& [name, minor] : kSince) {
    if (image.find(memory, name)) {
      return {3, minor, {}};
    }
  }
  return {3, 7, {}};
}

Result<PythonVersion> read_version(const MemoryReader& memory,
                                   const ElfImage& image) {
  const auto constant = image.find(memory, "Py_Version");
  if (!constant) {
    return version_by_symbols(memory, image);
  }
  const auto hex = TRY(memory.read_value<std::uint64_t>(constant->address));
  const PythonVersion version{static_cast<int>(hex >> 24),
                              static_cast<int>(hex >> 16 & 0xff),
                              static_cast<int>(hex >> 8 & 0xff)};
  if (version.major != 3 || version.minor < 11) {
    return fail(ErrorId::UnsupportedPython,
                fmt::format("Py_Version is {:#x}, which is no version", hex));
  }
  return version;
}

Status read_layout(const MemoryReader& memory, PythonRuntime& python) {
  if (python.version.at_least(13)) {
    auto offsets = TRY(read_debug_offsets(memory, python.runtime));
    python.layout = offsets.layout;
    python.free_threaded = offsets.free_threaded;
    return {};
  }
  const CPythonLayout* row = generated_layout(python.version.minor);
  if (row == nullptr) {
    return fail(ErrorId::UnsupportedPython,
                fmt::format("python {} is not supported, 3.7 to 3.14 are",
                            python.version.text()));
  }
  python.layout = *row;
  return {};
}

Result<PythonRuntime> describe(const MemoryReader& memory,
                               std::size_t module,
                               ElfImage image,
                               Address runtime) {
  PythonRuntime python;
  python.module = module;
  python.runtime = runtime;
  python.version = TRY(read_version(memory, image));
  TRY(read_layout(memory, python));
  const auto code_type = image.find(memory, "PyCode_Type");
  if (!code_type) {
    return fail(ErrorId::UnsupportedPython,
                fmt::format("python {} does not export its C API",
                            python.version.text()));
  }
  python.code_type = code_type->address;
  python.image = std::move(image);
  return python;
}

}  // namespace

std::string PythonVersion::text() const {
  return micro ? fmt::format("{}.{}.{}", major, minor, *micro)
               : fmt::format("{}.{}", major, minor);
}

std::optional<Address> PythonRuntime::find(const MemoryReader& memory,
                                           std::string_view name) const {
  const auto symbol = image.find(memory, name);
  return symbol ? std::optional(symbol->address) : std::nullopt;
}

Result<PythonRuntime> find_python(const MemoryReader& memory,
                                  const std::vector<Module>& modules) {
  bool saw_32_bit = false;
  for (const std::size_t index : likely_first(modules)) {
    auto image = ElfImage::read(memory, modules[index].base);
    if (!image) {
      saw_32_bit |= image.error().id == ErrorId::Wrong32Bit;
      continue;  // it may have been unmapped since
    }
    if (const auto runtime = image->find(memory, "_PyRuntime")) {
      return describe(memory, index, *std::move(image), runtime->address);
    }
    if (image->find(memory, "Py_IsInitialized")) {
      return too_old(
          image->find(memory, "PyString_FromString") ? "2.7" : "3.6 or older");
    }
  }
  if (saw_32_bit) {
    return fail(ErrorId::Wrong32Bit, "the process is not a 64-bit one");
  }
  return fail(ErrorId::NotPython, "no Python interpreter is loaded in it",
              "pgrep -a python lists the Python processes");
}

Result<bool> is_initialized(const MemoryReader& memory,
                            const PythonRuntime& python) {
  return TRY(memory.read_value<std::int32_t>(
             python.runtime + python.layout.runtime_initialized)) != 0;
}

Result<bool> is_finalizing(const MemoryReader& memory,
                           const PythonRuntime& python) {
  return static_cast<bool>(TRY(
      memory.read_address(python.runtime + python.layout.runtime_finalizing)));
}

Status check_ready(const MemoryReader& memory, const PythonRuntime& python) {
  if (TRY(is_finalizing(memory, python))) {
    return fail(ErrorId::Finalizing,
                "the interpreter is shutting down and runs no more code",
                "it is about to end; py-spy dump --pid PID shows where it is");
  }
  if (!TRY(is_initialized(memory, python))) {
    return fail(
        ErrorId::NotInitialized, "the interpreter has not finished starting",
        "try again in a moment; py-spy dump --pid PID shows where it is");
  }
  return {};
}

}  // namespace hangdbg
