#include "inspector/cpython/runtime/python_runtime.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/text.h"
#include "inspector/cpython/layout/told_objects.h"
#include "inspector/cpython/runtime/proved_layout.h"
#include "inspector/cpython/runtime/scanned_python.h"
#include "inspector/cpython/runtime/stripped_python.h"

namespace hangdbg {
namespace {

constexpr const char* kPySpyHint = "py-spy dump --pid PID can show its stacks";

constexpr int kLibrary = 3;
constexpr std::uint64_t kVersionInTable = 8;  // of _Py_DebugOffsets

// Where to look first: a torch process has 500 modules, and asking each for a
// symbol would take longer than all the rest.
int rank(const Module& module) {
  const std::string_view path = module.path;
  const std::string_view name = base_name(path);
  if (name.starts_with("libpython")) {
    return 0;
  }
  if (name.starts_with("python")) {
    return 1;
  }
  return name.find(".so") == name.npos ? 2 : kLibrary;
}

std::vector<std::size_t> likely_modules_first(
    const std::vector<Module>& modules) {
  std::vector<std::size_t> order(modules.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {},
                           [&](std::size_t i) { return rank(modules[i]); });
  return order;
}

std::unexpected<Error> too_old(const char* version) {
  return fail(
      ErrorId::UnsupportedPython,
      fmt::format("python {} is too old, 3.6 to 3.15 can be read", version),
      kPySpyHint);
}

// Each minor version brought a function; the newest one present tells. From
// 3.11 on it is needed only where a file's symbols are without constants.
PythonVersion version_by_symbols(const MemoryReader& memory,
                                 const PythonRuntime& python) {
  static constexpr std::array<std::pair<const char*, int>, 8> kSince = {{
      {"PyThreadState_Ensure", 15},
      {"PyUnicodeWriter_Create", 14},
      {"PyDict_GetItemRef", 13},
      {"PyErr_GetRaisedException", 12},
      {"PyFrame_GetLasti", 11},
      {"PyIter_Send", 10},
      {"PyFrame_GetBack", 9},
      {"PyCode_NewWithPosOnlyArgs", 8},
  }};
  for (const auto& [name, minor] : kSince) {
    if (python.find(memory, name)) {
      return {3, minor, {}};
    }
  }
  return {3, 7, {}};
}

Result<PythonVersion> read_version(const MemoryReader& memory,
                                   const PythonRuntime& python) {
  const auto constant = python.find(memory, "Py_Version");
  if (!constant) {
    return version_by_symbols(memory, python);
  }
  const auto hex = TRY(memory.read_value<std::uint64_t>(*constant));
  const PythonVersion version{static_cast<int>(hex >> 24),
                              static_cast<int>(hex >> 16 & 0xff),
                              static_cast<int>(hex >> 8 & 0xff)};
  if (version.major != 3 || version.minor < 11) {
    return fail(ErrorId::UnsupportedPython,
                fmt::format("Py_Version is {:#x}, which is no version", hex));
  }
  return version;
}

// `type` is an object whose type is `type`, from the start: that shows where
// objects have theirs.
bool traces_references(const MemoryReader& memory,
                       const PythonRuntime& python,
                       const CPythonLayout& plain) {
  const CPythonLayout* longer = generated_layout(python.version.minor, true);
  const auto type = python.find(memory, "PyType_Type");
  if (!type || longer == nullptr) {
    return false;
  }
  const auto is_type_at = [&](std::uint32_t offset) {
    const auto found = memory.read_address(*type + offset);
    return found && *found == *type;
  };
  return !is_type_at(plain.object_type) && is_type_at(longer->object_type);
}

// Releases, and candidates for one, of the minor versions that have a row.
bool is_known(const MemoryReader& memory, const PythonRuntime& python) {
  constexpr std::uint64_t kCandidate = 0xc;  // PY_RELEASE_LEVEL_GAMMA
  const auto version =
      memory.read_value<std::uint64_t>(python.runtime + kVersionInTable);
  return object_layout(python.version.minor, false) != nullptr &&
         (!version || (*version >> 4 & 0xf) >= kCandidate);
}

Status prove_unknown(const MemoryReader& memory, PythonRuntime& python) {
  auto proved = TRY(
      prove_layout(memory, python.runtime, python.find(memory, "PyCode_Type")));
  python.layout = proved.layout;
  python.objects = proved.objects;
  python.free_threaded = proved.free_threaded;
  python.unknown = true;
  python.unproved = std::move(proved.unproved);
  return {};
}

// By a row of ours, and what the interpreter's table says instead. Errors:
// UnsupportedPython where they do not go together.
Status read_known(const MemoryReader& memory, PythonRuntime& python) {
  auto offsets = TRY(read_debug_offsets(memory, python.runtime));
  // Only builds --with-pydebug have it.
  const bool checked = python.find(memory, "_Py_NegativeRefcount").has_value();
  const ObjectLayout* const row =
      object_layout(python.version.minor, offsets.free_threaded, checked);
  if (row == nullptr) {
    return fail(ErrorId::UnsupportedPython, "there is no row for its objects");
  }
  const auto objects = TRY(with_told_offsets(memory, python.runtime, *row));
  if (!fits(objects, *row)) {
    return fail(ErrorId::UnsupportedPython, "its objects are not the row's");
  }
  python.layout = offsets.layout;
  python.objects = objects;
  python.free_threaded = offsets.free_threaded;
  return {};
}

Status read_layout(const MemoryReader& memory, PythonRuntime& python) {
  if (python.version.at_least(13)) {
    if (is_known(memory, python)) {
      const Status read = read_known(memory, python);
      if (read || read.error().id != ErrorId::UnsupportedPython) {
        return read;
      }
    }
    return prove_unknown(memory, python);
  }
  const CPythonLayout* row = generated_layout(python.version.minor);
  if (row == nullptr) {
    return fail(ErrorId::UnsupportedPython,
                fmt::format("python {} is not supported, 3.6 to 3.15 are",
                            python.version.text()));
  }
  if (traces_references(memory, python, *row)) {
    row = generated_layout(python.version.minor, true);
  }
  python.layout = *row;
  return {};
}

// Newer than what has no PyOS_FSPath, older than what has _PyRuntime.
bool is_36(const MemoryReader& memory, const PythonRuntime& python) {
  return python.find(memory, "_PyThreadState_Current") &&
         python.find(memory, "PyOS_FSPath");
}

// What _PyRuntime has later are variables here, some of which only the file
// names.
Status find_variables_36(const MemoryReader& memory,
                         const Module& module,
                         const ReadFileSymbols& read_symbols,
                         PythonRuntime& python) {
  auto symbols = python.file_symbols;
  if (!symbols && read_symbols) {
    if (auto own = read_symbols(module, python.image)) {
      symbols = *std::move(own);
    }
  }
  const auto find = [&](const char* name) {
    const auto found = symbols ? symbols->find(name) : std::nullopt;
    return found ? found->address : Address{};
  };
  python.current_thread =
      python.find(memory, "_PyThreadState_Current").value_or(Address{});
  if (const auto first = python.find(memory, "_PyGC_generation0")) {
    python.generations = memory.read_address(*first).value_or(Address{});
  }
  python.collecting = find("collecting");
  python.runtime = find("interp_head");
  if (!python.runtime) {
    python.runtime =
        scan_for_interpreters(memory, python.image).value_or(Address{});
  }
  return python.runtime ? Status{}
                        : fail(ErrorId::NotInitialized,
                               "it has no interpreter that can be found",
                               "try again in a moment");
}

// `python` with its image and symbols, those of that module; nothing when they
// have none.
Result<std::optional<PythonRuntime>> describe_version(
    const MemoryReader& memory,
    const Module& module,
    const ReadFileSymbols& read_symbols,
    PythonRuntime python) {
  if (const auto runtime = python.find(memory, "_PyRuntime")) {
    python.runtime = *runtime;
    python.version = TRY(read_version(memory, python));
  } else if (is_36(memory, python)) {
    TRY(find_variables_36(memory, module, read_symbols, python));
    python.version = {3, 6, {}};
  } else {
    return std::nullopt;
  }
  TRY(read_layout(memory, python));
  const auto code_type = python.find(memory, "PyCode_Type");
  if (!code_type) {
    return fail(
        ErrorId::UnsupportedPython,
        fmt::format("python {} has no PyCode_Type", python.version.text()));
  }
  python.code_type = *code_type;
  return python;
}

// An interpreter that no module exports: a program's own, or one that a
// library keeps for itself.
Result<std::optional<PythonRuntime>> find_hidden(
    const MemoryReader& memory,
    const std::vector<Module>& modules,
    const std::vector<std::size_t>& order,
    const ReadFileSymbols& read_symbols) {
  for (const std::size_t index : order) {
    auto image = ElfImage::read(memory, modules[index].base);
    if (!image) {
      continue;
    }
    const Module& module = modules[index];
    auto symbols = read_symbols(module, *image);
    if (symbols) {
      PythonRuntime candidate;
      candidate.module = index;
      candidate.image = *std::move(image);
      candidate.file_symbols = *std::move(symbols);
      if (auto python = TRY(describe_version(memory, module, read_symbols,
                                             std::move(candidate)))) {
        return python;
      }
    } else if (const auto name = rank(module) == kLibrary
                                     ? std::nullopt
                                     : find_stripped_python(memory, module)) {
      if (auto python = scan_for_python(memory, module, *image)) {
        python->module = index;
        python->scanned = true;
        return python;
      }
      return fail(
          ErrorId::NoSymbols,
          fmt::format("{} is linked into {}, which exports none of it and is "
                      "stripped: {}",
                      *name, module.path, symbols.error().text()),
          "install its debug symbols (under /usr/lib/debug)");
    }
  }
  return std::nullopt;
}

}  // namespace

std::string PythonVersion::text() const {
  return micro ? fmt::format("{}.{}.{}", major, minor, *micro)
               : fmt::format("{}.{}", major, minor);
}

std::optional<Symbol> PythonRuntime::find_symbol(const MemoryReader& memory,
                                                 std::string_view name) const {
  const auto exported = image.find(memory, name);
  return exported || !file_symbols ? exported : file_symbols->find(name);
}

std::optional<Address> PythonRuntime::find(const MemoryReader& memory,
                                           std::string_view name) const {
  const auto symbol = find_symbol(memory, name);
  return symbol ? std::optional(symbol->address) : std::nullopt;
}

Result<PythonRuntime> find_python(const MemoryReader& memory,
                                  const std::vector<Module>& modules,
                                  const ReadFileSymbols& read_symbols) {
  std::optional<PythonRuntime> old;
  bool saw_32_bit = false;
  const auto order = likely_modules_first(modules);
  for (const std::size_t index : order) {
    auto image = ElfImage::read(memory, modules[index].base);
    if (!image) {
      saw_32_bit |= image.error().id == ErrorId::Wrong32Bit;
      continue;  // it may have been unmapped since
    }
    PythonRuntime candidate;
    candidate.module = index;
    candidate.image = *std::move(image);
    if (auto python = TRY(describe_version(memory, modules[index], read_symbols,
                                           candidate))) {
      return *std::move(python);
    }
    if (candidate.find(memory, "Py_IsInitialized")) {
      old = std::move(candidate);
      break;
    }
  }
  if (read_symbols) {
    if (auto python = TRY(find_hidden(memory, modules, order, read_symbols))) {
      return *std::move(python);
    }
  }
  if (old) {
    return too_old(old->find(memory, "PyString_FromString") ? "2.7"
                                                            : "3.5 or older");
  }
  if (saw_32_bit) {
    return fail(ErrorId::Wrong32Bit, "the process is not a 64-bit one");
  }
  return fail(ErrorId::NotPython, "no Python interpreter is loaded in it",
              "hangdbg ps");
}

Result<std::optional<PythonRuntime>> find_python(const MemoryReader& memory,
                                                 const ElfImage& program) {
  PythonRuntime candidate;
  candidate.image = program;
  if (!candidate.find(memory, "_PyRuntime")) {
    return std::nullopt;
  }
  return describe_version(memory, {}, {}, std::move(candidate));
}

std::string trust_note(const PythonRuntime& python) {
  if (!python.unknown) {
    return "";
  }
  std::string note = fmt::format(
      "python {} is not known to this hangdbg: its stacks are proved from its "
      "memory; locks, tasks and loops are not read",
      python.version.text());
  if (!python.unproved.empty()) {
    note += fmt::format("; not proved: {}", fmt::join(python.unproved, ", "));
  }
  return note;
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
                "it is about to end; hangdbg dump PID shows where it is");
  }
  if (!TRY(is_initialized(memory, python))) {
    return fail(ErrorId::NotInitialized,
                "the interpreter has not finished starting",
                "try again in a moment");
  }
  return {};
}

}  // namespace hangdbg
