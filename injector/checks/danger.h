// Which code a thread must not be in when we borrow it.
//
// A borrowed thread calls pthread_create, which takes the allocator's and the
// loader's locks and libc's own low-level ones. A thread interrupted while it
// holds one of them would wait for itself for ever, so we must be sure from
// its native stack that it does not.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "inspector/cpython/runtime/python_runtime.h"
#include "inspector/native/native_stack.h"
#include "tracee/elf/elf_symbols.h"
#include "tracee/memory/address.h"
#include "tracee/memory/memory.h"
#include "tracee/proc/proc_maps.h"

namespace hangdbg {

// Where the thread was interrupted.
struct Interruption {
  bool in_syscall = false;  // asleep in, or just stopped out of, a call
  long number = -1;         // of that call (orig_rax)
  // Of its arguments, when it is futex(2):
  std::uint32_t futex_op = 0;
  bool has_timeout = false;
  bool cancellable = false;  // is_cancellable_of_musl
};

struct StackVerdict {
  bool safe = false;
  std::string reason;  // why not: "in the allocator (malloc)"; "" when safe
};

class DangerousCode {
 public:
  // Errors: NoSafeThread when no libc or loader can be found; Instrumented
  // where something ahead of libc has to see each thread begin.
  static Result<DangerousCode> find(const MemoryReader& memory,
                                    const std::vector<Module>& modules,
                                    const PythonRuntime& python);

  // For stack_mentions: sorted, not overlapping.
  std::span<const AddressRange> ranges() const { return merged_; }

  // What the system call alone tells: a plain FUTEX_WAIT is a low-level lock
  // (glibc's semaphores and conditions use FUTEX_WAIT_BITSET), mmap and its
  // like are the allocator's. For the fast way, before stack_mentions.
  static StackVerdict judge_call(const Interruption& at);

  // Whether that call may be a wait for one of libc's own locks, which has no
  // timeout (glibc's lowlevellock.c, musl's __wait.c): only the exact way
  // tells. In a library's frame (libgomp's barrier), or in a function of libc
  // that waits for the program (pthread_join), it is the program's wait: the
  // kernel restarts it, and it looks at its word again.
  static bool is_low_level_wait(const Interruption& at);

  // The exact way: the call, and every frame.
  StackVerdict judge(const NativeStack& stack, const Interruption& at) const;

  // The module that defines pthread_create (libc, or libpthread before glibc
  // 2.34), and its address.
  std::size_t pthread_module() const { return pthread_module_; }
  Address pthread_create() const { return pthread_create_; }
  bool is_musl() const { return musl_; }
  // Most often one. A static program is its own.
  std::span<const std::size_t> loader_modules() const {
    return loader_modules_;
  }

  // Program, interpreter, libc and loader are one module: a static program.
  bool is_static() const { return static_; }

 private:
  using Find = std::function<std::optional<Symbol>(const char* name)>;

  struct Named {
    AddressRange range;
    std::string what;  // "in the loader", "in the allocator (malloc)"
  };

  void add_libc(std::size_t module, const Find& find);
  void add_functions(const Find& find,
                     std::span<const char* const> names,
                     const char* where);
  static void add_ranges(const Find& find,
                         std::span<const char* const> names,
                         std::vector<AddressRange>& ranges);
  void add_text(const ElfImage& image, const std::string& what);
  void merge();
  StackVerdict judge_static(const NativeStack& stack,
                            const Interruption& at) const;
  const Named* find_named(Address code) const;
  bool is_libc(const NativeFrame& frame) const;
  static bool contains(const std::vector<AddressRange>& ranges, Address code);

  std::vector<Named> named_;
  std::vector<AddressRange> merged_;
  std::vector<AddressRange> condition_waits_;
  std::vector<AddressRange> plain_waits_;
  std::vector<std::size_t> libc_modules_;
  std::vector<std::size_t> loader_modules_;
  std::size_t python_module_ = 0;
  std::size_t pthread_module_ = 0;
  Address pthread_create_;
  bool musl_ = false;
  bool static_ = false;
};

// Whether the instruction just before `pc` is `syscall`.
bool follows_syscall(const MemoryReader& memory, Address pc);

// Whether it is the one by which musl makes the calls that pthread_cancel can
// end. Semaphores and conditions wait there, and musl's own locks do not; by
// the call alone they are the same, since musl knows no FUTEX_WAIT_BITSET.
bool is_cancellable_of_musl(const MemoryReader& memory, Address pc);

}  // namespace hangdbg
