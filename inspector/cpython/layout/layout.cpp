// The generated rows, and the reading of _Py_DebugOffsets.
#include "inspector/cpython/layout/layout.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <span>

namespace hangdbg {
namespace {

constexpr CPythonLayout kGenerated[] = {
#include "inspector/cpython/layout/layouts.inc"
};

constexpr CPythonLayout kGeneratedTracingReferences[] = {
#include "inspector/cpython/layout/checked_layouts.inc"
};

using Word = std::uint64_t;

// The sections of _Py_DebugOffsets up to the last one that we need. Each is a
// run of 64-bit words; `size` is that of the structure described.
struct RuntimeOffsets {
  Word size, finalizing, interpreters_head;
};
struct InterpreterOffsets313 {
  Word size, id, next, threads_head;
  Word gc, imports_modules, sysdict, builtins;
  Word ceval_gil, gil, gil_enabled, gil_locked, gil_holder;
};
struct InterpreterOffsets314 {
  Word size, id, next, threads_head, threads_main;
  Word gc, imports_modules, sysdict, builtins;
  Word ceval_gil, gil, gil_enabled, gil_locked, gil_holder;
  Word code_object_generation, tlbc_generation;
};
struct ThreadOffsets {
  Word size, prev, next, interp, current_frame;
  Word thread_id, native_thread_id, datastack_chunk, status;
};
// Behind them the one of err_stackitem, a section of its own.
struct ThreadOffsets315 {
  Word size, prev, next, interp, current_frame;
  Word base_frame, last_profiled_frame, last_profiled_frame_seq;
  Word thread_id, native_thread_id, datastack_chunk, status;
  Word holds_gil, gil_requested, current_exception, exc_state;
  Word exc_value;
};
struct FrameOffsets313 {
  Word size, previous, executable, instr_ptr, localsplus, owner;
};
struct FrameOffsets314 {
  Word size, previous, executable, instr_ptr, localsplus, owner;
  Word stackpointer, tlbc_index;
};
struct CodeOffsets313 {
  Word size, filename, name, qualname, linetable, firstlineno, argcount;
  Word localsplusnames, localspluskinds, co_code_adaptive;
};
struct CodeOffsets314 {
  Word size, filename, name, qualname, linetable, firstlineno, argcount;
  Word localsplusnames, localspluskinds, co_code_adaptive, co_tlbc;
};
struct ObjectOffsets {
  Word size, ob_type;
};

struct Header {
  std::array<char, 8> cookie;
  Word version, free_threaded;
};

template <class Interpreter, class Thread, class Frame, class Code>
struct Table {
  Header header;
  RuntimeOffsets runtime;
  Interpreter interpreter;
  Thread thread;
  Frame frame;
  Code code;
  ObjectOffsets object;
};
using Table313 = Table<InterpreterOffsets313,
                       ThreadOffsets,
                       FrameOffsets313,
                       CodeOffsets313>;
using Table314 = Table<InterpreterOffsets314,
                       ThreadOffsets,
                       FrameOffsets314,
                       CodeOffsets314>;
using Table315 = Table<InterpreterOffsets314,
                       ThreadOffsets315,
                       FrameOffsets314,
                       CodeOffsets314>;

// PyThreadState.state, an int: behind _status, holds_gil, from 3.15
// gil_requested, and _whence. (struct _ts, Include/cpython/pystate.h)
template <class Thread>
Word attachment_of(const Thread& t) {
  if constexpr (requires { t.gil_requested; }) {
    return t.gil_requested + 8;
  } else {
    return t.status + 12;
  }
}

// Larger than any structure of any version: the interpreter's is 0.4 MB.
constexpr Word kMaxStructure = 64U << 20;

bool all_inside(Word size, std::initializer_list<Word> offsets) {
  return size != 0 && size <= kMaxStructure &&
         std::ranges::all_of(offsets, [&](Word at) { return at < size; });
}

template <class Table>
bool makes_sense(const Table& t) {
  return all_inside(t.runtime.size,
                    {t.runtime.finalizing, t.runtime.interpreters_head + 8}) &&
         t.runtime.finalizing >= 8 &&
         all_inside(t.interpreter.size,
                    {t.interpreter.id, t.interpreter.next,
                     t.interpreter.threads_head, t.interpreter.ceval_gil,
                     t.interpreter.gil_locked, t.interpreter.gil_holder}) &&
         t.interpreter.gil <= t.interpreter.gil_locked &&
         t.interpreter.gil <= t.interpreter.gil_holder &&
         all_inside(t.thread.size,
                    {t.thread.next, t.thread.interp, t.thread.current_frame,
                     t.thread.thread_id, t.thread.native_thread_id,
                     attachment_of(t.thread)}) &&
         all_inside(t.frame.size, {t.frame.previous, t.frame.executable,
                                   t.frame.instr_ptr, t.frame.owner}) &&
         all_inside(t.code.size, {t.code.filename, t.code.name, t.code.qualname,
                                  t.code.firstlineno, t.code.linetable,
                                  t.code.co_code_adaptive}) &&
         t.code.co_code_adaptive >= 16 &&
         all_inside(t.object.size, {t.object.ob_type});
}

template <class Table>
CPythonLayout layout_of(const Table& t, int minor) {
  const auto narrow = [](Word at) { return static_cast<std::uint32_t>(at); };
  const bool free_threaded = t.header.free_threaded != 0;
  CPythonLayout layout;
  layout.minor = minor;

  // `initialized` is the last int before `_finalizing` (and its padding);
  // `main` follows `head` (struct pyruntimestate in pycore_runtime.h).
  layout.runtime_initialized = narrow(t.runtime.finalizing - 8);
  layout.runtime_finalizing = narrow(t.runtime.finalizing);
  layout.runtime_interpreters_head = narrow(t.runtime.interpreters_head);
  layout.runtime_interpreters_main = narrow(t.runtime.interpreters_head + 8);

  layout.interpreter_next = narrow(t.interpreter.next);
  layout.interpreter_id = narrow(t.interpreter.id);
  layout.interpreter_threads_head = narrow(t.interpreter.threads_head);
  layout.interpreter_gil = narrow(t.interpreter.ceval_gil);
  // Given as offsets into the interpreter, whose own GIL is a member.
  layout.gil_locked = narrow(t.interpreter.gil_locked - t.interpreter.gil);
  layout.gil_last_holder = narrow(t.interpreter.gil_holder - t.interpreter.gil);
  if (free_threaded) {
    layout.gil_enabled = narrow(t.interpreter.gil_enabled);
  }

  layout.thread_next = narrow(t.thread.next);
  layout.thread_interpreter = narrow(t.thread.interp);
  layout.thread_ident = narrow(t.thread.thread_id);
  layout.thread_native_id = narrow(t.thread.native_thread_id);
  layout.thread_frame = narrow(t.thread.current_frame);
  if (free_threaded && minor >= 14) {
    layout.thread_attachment = narrow(attachment_of(t.thread));
  }

  layout.frame_previous = narrow(t.frame.previous);
  layout.frame_code = narrow(t.frame.executable);
  layout.frame_position = narrow(t.frame.instr_ptr);
  layout.frame_position_size = 8;
  layout.frame_owner = narrow(t.frame.owner);
  // 3.13 FRAME_OWNED_BY_CSTACK, 3.14 FRAME_OWNED_BY_INTERPRETER and _CSTACK,
  // 3.15 FRAME_OWNED_BY_INTERPRETER.
  layout.frame_owner_c_stack = 3;

  layout.code_name = narrow(t.code.name);
  layout.code_qualname = narrow(t.code.qualname);
  layout.code_filename = narrow(t.code.filename);
  layout.code_first_line = narrow(t.code.firstlineno);
  layout.code_line_table = narrow(t.code.linetable);
  layout.code_instructions = narrow(t.code.co_code_adaptive);
  // The structure ends with _co_firsttraceable, an int, co_extra, a pointer,
  // perhaps the copies of the bytecode, and the bytecode itself.
  // (Include/cpython/code.h)
  Word end = t.code.co_code_adaptive;
  if constexpr (requires { t.code.co_tlbc; }) {
    if (free_threaded) {
      layout.frame_bytecode_index = narrow(t.frame.tlbc_index);
      layout.code_bytecodes = narrow(t.code.co_tlbc);
      end = t.code.co_tlbc;
    }
  }
  layout.code_first_traceable = narrow(end - 16);

  // PyBytesObject: the object, length, hash, then the bytes. PyASCIIObject: the
  // object, length, hash, state and padding, then the text;
  // PyCompactUnicodeObject adds two words. (Include/cpython/unicodeobject.h)
  layout.object_type = narrow(t.object.ob_type);
  layout.bytes_size = narrow(t.object.size);
  layout.bytes_data = narrow(t.object.size + 16);
  layout.str_length = narrow(t.object.size);
  layout.str_state = narrow(t.object.size + 16);
  layout.str_ascii_data = narrow(t.object.size + 24);
  layout.str_compact_data = narrow(t.object.size + 40);
  // `interned` is a byte of its own in 3.14t, two bits elsewhere.
  layout.str_kind_shift = free_threaded && minor >= 14 ? 8 : 2;
  return layout;
}

template <class Table>
Result<DebugOffsets> read_table(const MemoryReader& memory,
                                Address runtime,
                                int minor) {
  const Table table = TRY(memory.read_value<Table>(runtime));
  if (!makes_sense(table)) {
    return fail(ErrorId::UnsupportedPython,
                fmt::format("python 3.{} describes itself with offsets that "
                            "make no sense",
                            minor));
  }
  return DebugOffsets{table.header.version, table.header.free_threaded != 0,
                      layout_of(table, minor)};
}

}  // namespace

const CPythonLayout* generated_layout(int minor, bool traces_references) {
  const std::span<const CPythonLayout> rows =
      traces_references ? std::span(kGeneratedTracingReferences)
                        : std::span(kGenerated);
  const auto found = std::ranges::find(rows, minor, &CPythonLayout::minor);
  return found == rows.end() ? nullptr : &*found;
}

Result<DebugOffsets> read_debug_offsets(const MemoryReader& memory,
                                        Address runtime) {
  const Header header = TRY(memory.read_value<Header>(runtime));
  if (std::memcmp(header.cookie.data(), "xdebugpy", 8) != 0) {
    return fail(ErrorId::UnsupportedPython,
                "_PyRuntime does not start with the debug offsets that python "
                "3.13 and later have");
  }
  switch (header.version >> 16) {
    case 0x030d:
      return read_table<Table313>(memory, runtime, 13);
    case 0x030e:
      return read_table<Table314>(memory, runtime, 14);
    case 0x030f:
      return read_table<Table315>(memory, runtime, 15);
    default:
      return fail(
          ErrorId::UnsupportedPython,
          fmt::format("python {}.{} is newer than this hangdbg knows",
                      header.version >> 24, header.version >> 16 & 0xff));
  }
}

}  // namespace hangdbg
