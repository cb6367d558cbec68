// The memory of an interpreter of a version to come, made up: one interpreter,
// two threads, the frames of main in a function and a module. Its table has the
// words of 3.14, which a test changes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tracee/memory/address.h"
#include "tracee/memory/memory.h"

namespace hangdbg {

class MadeUpUnknown {
 public:
  static constexpr Address kRuntime{0x100000};
  static constexpr Address kInterpreter{0x200000};
  static constexpr std::uint64_t kVersion = 0x031000f0;  // 3.16.0

  // Where the groups begin, and words of them.
  static constexpr std::size_t kHeader = 3;
  static constexpr std::size_t kInterpreterGroup = 6;
  static constexpr std::size_t kObjectGroup = 50;
  static constexpr std::size_t kWords = 95;

  std::vector<std::uint64_t> words = {
      cookie(), kVersion, 0,
      // runtime: size, finalizing, interpreters_head
      700'000, 2000, 2016,
      // interpreter: size, id, next, threads_head, threads_main, gc, modules,
      // sysdict, builtins, ceval_gil, gil, enabled, locked, holder, two more
      12'000, 7272, 7264, 7328, 7344, 7392, 7584, 7568, 7576, 16, 7720, 0, 7736,
      7728, 7776, 0,
      // thread: size, prev, next, interp, current_frame, thread_id,
      // native_thread_id, datastack_chunk, status
      880, 0, 8, 16, 72, 152, 160, 248, 36,
      // frame: size, previous, executable, instr_ptr, localsplus, owner,
      // stackpointer, tlbc_index
      88, 8, 0, 56, 80, 74, 64, 0,
      // code: size, filename, name, qualname, linetable, firstlineno, argcount,
      // localsplusnames, localspluskinds, co_code_adaptive, co_tlbc
      216, 112, 120, 128, 136, 68, 52, 96, 104, 208, 0,
      // object, type
      16, 8, 416, 24, 88, 168,
      // tuple, list, set, dict
      40, 32, 16, 40, 24, 16, 200, 24, 40, 32, 48, 32, 40,
      // float, int, bytes, str: size, state, length, asciiobject_size
      24, 16, 32, 16, 24, 40, 16, 32, 64, 32, 16, 40,
      // gc, generator, llist_node, debugger_support
      264, 192, 144, 24, 72, 67, 0, 8, 24, 300, 4, 0, 4, 512};

  // With the table that `words` are now.
  FakeMemory memory() const {
    FakeMemory made;
    const auto add =
        [&](Address at, std::size_t size,
            const std::vector<std::pair<std::size_t, std::uint64_t>>& fields) {
          std::vector<std::byte> bytes(size);
          for (const auto& [offset, value] : fields) {
            std::memcpy(bytes.data() + offset, &value, 8);
          }
          made.add(at, bytes);
        };
    std::vector<std::pair<std::size_t, std::uint64_t>> runtime = {
        {1992, 1}, {2016, kInterpreter.value}, {2024, kInterpreter.value}};
    for (std::size_t i = 0; i < words.size(); ++i) {
      runtime.emplace_back(i * 8, words[i]);
    }
    add(kRuntime, 4096, runtime);
    add(kInterpreter, 12'000,
        {{16, kInterpreter.value + 7720},
         {7328, kWorker},
         {7344, kMain},
         {7584, kDict},
         {7568, kDict},
         {7576, kDict},
         {7728, kMain},
         {7736, 1}});
    add({kWorker}, 1024,
        {{8, kMain},
         {16, kInterpreter.value},
         {72, kWorkersBase},
         {152, kWorkersPthread},
         {160, 78}});
    add({kMain}, 1024,
        {{0, kWorker},
         {16, kInterpreter.value},
         {72, kInner},
         {152, kMainsPthread},
         {160, 77}});
    add({kWorkersPthread}, 0x300, {{0, kWorkersPthread}, {0x2d0, 78}});
    add({kMainsPthread}, 0x300, {{0, kMainsPthread}, {0x2d0, 77}});
    const std::uint64_t own = std::uint64_t{3} << 16;  // the owner's byte, 74
    add({kInner}, 96,
        {{0, kFunction | 1},
         {8, kOuter},
         {24, kDict},
         {32, kDict},
         {56, kFunction + 212}});
    add({kOuter}, 96,
        {{0, kModule | 1},
         {8, kBase},
         {24, kDict},
         {32, kDict},
         {40, kDict},
         {56, kModule + 208}});
    add({kBase}, 96, {{0, kNone}, {72, own}});
    add({kWorkersBase}, 96, {{0, kNone}, {72, own}});
    code(made, kFunction, "Thread.run", "run", 7, 3);
    code(made, kModule, "<module>", "<module>", 1, 0);
    object(made, kDict, "dict");
    object(made, kNone, "NoneType");
    return made;
  }

  static constexpr std::uint64_t kCodeType = 0x400000;

 private:
  static constexpr std::uint64_t kWorker = 0x210000, kMain = 0x211000;
  static constexpr std::uint64_t kWorkersPthread = 0x220000,
                                 kMainsPthread = 0x221000;
  static constexpr std::uint64_t kInner = 0x230000, kOuter = 0x230100,
                                 kBase = 0x230200, kWorkersBase = 0x230300;
  static constexpr std::uint64_t kFunction = 0x300000, kModule = 0x310000;
  static constexpr std::uint64_t kDict = 0x320000, kNone = 0x321000;

  static std::uint64_t cookie() {
    std::uint64_t word = 0;
    std::memcpy(&word, "xdebugpy", 8);
    return word;
  }

  static std::vector<std::byte> bytes_of(
      std::size_t size,
      const std::vector<std::pair<std::size_t, std::uint64_t>>& fields,
      std::string_view text = {},
      std::size_t text_at = 0) {
    std::vector<std::byte> bytes(size + text.size() + 1);
    for (const auto& [offset, value] : fields) {
      std::memcpy(bytes.data() + offset, &value, 8);
    }
    std::ranges::copy(std::as_bytes(std::span(text)),
                      bytes.begin() + static_cast<std::ptrdiff_t>(text_at));
    return bytes;
  }

  // An object's type, at an address of its own, with its name behind it.
  static std::uint64_t type(FakeMemory& made,
                            std::uint64_t object,
                            std::string_view name) {
    const std::uint64_t at =
        name == "code" ? kCodeType : 0x500000 + (object & 0xfffff);
    made.add({at}, bytes_of(256, {{24, at + 64}}, name, 64));
    return at;
  }

  static void object(FakeMemory& made,
                     std::uint64_t at,
                     std::string_view type_name) {
    made.add({at}, bytes_of(64, {{8, type(made, at, type_name)}}));
  }

  static void str(FakeMemory& made, std::uint64_t at, std::string_view text) {
    const std::uint64_t state = 1 << 2 | 1 << 5 | 1 << 6;  // one byte, ASCII
    made.add(
        {at},
        bytes_of(40,
                 {{8, type(made, at, "str")}, {16, text.size()}, {32, state}},
                 text, 40));
  }

  // Of eight instructions.
  static void code(FakeMemory& made,
                   std::uint64_t at,
                   std::string_view qualname,
                   std::string_view name,
                   std::uint64_t line,
                   std::uint64_t flags) {
    str(made, at + 0x1000, "/home/user/program.py");
    str(made, at + 0x2000, name);
    str(made, at + 0x3000, qualname);
    const std::uint64_t table = at + 0x4000;
    made.add({table}, bytes_of(32, {{8, type(made, table, "bytes")}, {16, 3}},
                               "\x83\x01\x83", 32));
    // One variable, called as the function.
    made.add({at + 0x5000}, bytes_of(64, {{8, type(made, at + 0x5000, "tuple")},
                                          {16, 1},
                                          {32, at + 0x2000}}));
    made.add({at + 0x6000}, bytes_of(64, {{8, type(made, at + 0x6000, "bytes")},
                                          {16, 1},
                                          {32, 0x20}}));
    made.add({at}, bytes_of(256, {{8, type(made, at, "code")},
                                  {16, 8},
                                  {48, flags},
                                  {64, line << 32},
                                  {96, at + 0x5000},
                                  {104, at + 0x6000},
                                  {112, at + 0x1000},
                                  {120, at + 0x2000},
                                  {128, at + 0x3000},
                                  {136, table}}));
  }
};

}  // namespace hangdbg
