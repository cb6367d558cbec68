// Where the interpreter is in a process, which one it is, and whether its C
// API may be called: asked out of process, with nothing stopped.
//
// Calling PyGILState_Ensure before initialisation or after finalisation kills
// the target, so these answers come before any injection, and can be asked
// again at the last moment.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "inspector/cpython/layout/layout.h"
#include "inspector/cpython/layout/object_layout.h"
#include "tracee/elf/elf_symbols.h"
#include "tracee/elf/file_symbols.h"
#include "tracee/memory/address.h"
#include "tracee/memory/memory.h"
#include "tracee/proc/proc_maps.h"

namespace hangdbg {

struct PythonVersion {
  int major = 0;
  int minor = 0;
  std::optional<int> micro;  // only 3.11 and later say it in a symbol

  bool at_least(int want_minor) const { return minor >= want_minor; }
  std::string text() const;  // "3.11.7", "3.9"
};

struct PythonRuntime {
  PythonVersion version;
  bool free_threaded = false;  // built without a GIL (3.13t and later)
  bool scanned = false;        // found without symbols: to be read, not called
  // No row of ours is of this version: what is known is proved from its memory
  // (proved_layout.h), and it is read, not entered.
  bool unknown = false;
  std::vector<std::string> unproved;  // of such: "line numbers"
  std::size_t module = 0;             // index into the modules it was found in
  ElfImage image;                     // of that module: resolves the C API
  std::optional<FileSymbols> file_symbols;  // where it does not export it
  Address runtime;    // &_PyRuntime; of 3.6, which has none, &interp_head
  Address code_type;  // &PyCode_Type
  CPythonLayout layout;
  // From 3.13 on: a row, with what the interpreter's own table says instead.
  std::optional<ObjectLayout> objects;

  // Of 3.6 alone, 0 where that is not known: variables beside interp_head.
  Address current_thread;  // &_PyThreadState_Current: the GIL's holder
  Address collecting;      // the garbage collector's, as the next
  Address generations;     // the lists of its objects

  // A function or variable of the C API, by its name.
  std::optional<Symbol> find_symbol(const MemoryReader& memory,
                                    std::string_view name) const;
  std::optional<Address> find(const MemoryReader& memory,
                              std::string_view name) const;
};

// How to come by all symbols of a module's file.
using ReadFileSymbols =
    std::function<Result<FileSymbols>(const Module&, const ElfImage&)>;

// The interpreter among `modules` (find_modules). The files are asked when no
// module exports one.
// Errors: NotPython; NoSymbols, when it is stripped; UnsupportedPython, with
// the version in the message and what may help in the hint; Unreadable.
// One of a newer version than we know is `unknown`.
Result<PythonRuntime> find_python(const MemoryReader& memory,
                                  const std::vector<Module>& modules,
                                  const ReadFileSymbols& read_symbols = {});

// The one that a program exports, if it does: no other that is loaded beside it
// is used then. Its `module` is not known. Errors: UnsupportedPython,
// Unreadable.
Result<std::optional<PythonRuntime>> find_python(const MemoryReader& memory,
                                                 const ElfImage& program);

// Py_IsInitialized(), read out of process.
Result<bool> is_initialized(const MemoryReader& memory,
                            const PythonRuntime& python);

// One sentence on an `unknown` one: what was read of it is proved, and what was
// not. "" of all others.
std::string trust_note(const PythonRuntime& python);

// Whether Py_FinalizeEx has begun (and not been undone by a new Initialize).
Result<bool> is_finalizing(const MemoryReader& memory,
                           const PythonRuntime& python);

// Both at once, as a verdict: may the C API be called now?
// Errors: NotInitialized, Finalizing, Unreadable.
Status check_ready(const MemoryReader& memory, const PythonRuntime& python);

}  // namespace hangdbg
