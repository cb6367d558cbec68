// The layout of an interpreter that is newer than all that we know, by the
// table that it carries and by its own memory.
//
// What each word of the table is called is a guess (unknown_table.h). It is
// taken only if memory proves it: thread states point back to their
// interpreter, frames lead to objects whose type is called "code", those have
// names that are text and a line table that is as long as their bytecode, a
// pthread_t is where it points to itself. Where two guesses hold and differ,
// none is taken. What is not proved is not there (kAbsent), or nothing is read
// at all.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "inspector/cpython/layout/layout.h"
#include "inspector/cpython/layout/object_layout.h"
#include "inspector/cpython/runtime/unknown_table.h"
#include "tracee/memory/address.h"
#include "tracee/memory/memory.h"

namespace hangdbg {

struct ProvedLayout {
  std::uint64_t version = 0;  // PY_VERSION_HEX
  bool free_threaded = false;
  CPythonLayout layout;
  Address code_type;
  // The newest row that there is, with what the table says instead. What it
  // says beyond that is for its reader to prove (object_proof.h).
  ObjectLayout objects;
  std::vector<std::string> unproved;  // "line numbers"
};

// `code_type` where a symbol tells it. The process may run meanwhile.
// Errors: Unreadable; UnsupportedPython: no table, or nothing that fits it.
Result<ProvedLayout> prove_layout(const MemoryReader& memory,
                                  Address runtime,
                                  std::optional<Address> code_type);

}  // namespace hangdbg
