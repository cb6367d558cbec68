#include "inspector/cpython/runtime/gil.h"

#include <fmt/core.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "inspector/cpython/layout/text.h"
#include "inspector/cpython/runtime/interpreters.h"
#include "tracee/memory/cached_memory.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMaxThreads = 16384;
constexpr int kMaxSkippedFrames = 8;
constexpr int kGilTries = 3;
constexpr std::size_t kGilMaxName = 256;  // code points

// The start of a structure, read at once: one system call, and fields that
// belong together.
class GilBlock {
 public:
  static Result<GilBlock> read(const MemoryReader& memory,
                               Address from,
                               std::initializer_list<std::uint32_t> fields) {
    std::uint32_t last = 0;
    for (const std::uint32_t field : fields) {
      if (field != CPythonLayout::kAbsent) {
        last = std::max(last, field);
      }
    }
    GilBlock block;
    if (last + 8 > block.bytes_.size()) {
      return fail(ErrorId::UnsupportedPython, "an implausibly large structure");
    }
    block.bytes_.fill(std::byte{0});
    TRY(memory.read(from, std::span(block.bytes_).first(last + 8)));
    return block;
  }

  template <class T>
  T get(std::uint32_t field) const {
    T value{};
    std::memcpy(&value, bytes_.data() + field, sizeof value);
    return value;
  }
  Address address(std::uint32_t field) const {
    return Address{get<std::uint64_t>(field)};
  }

 private:
  std::array<std::byte, 4096> bytes_;
};

Result<GilBlock> read_thread_state(const MemoryReader& memory,
                                   const CPythonLayout& at,
                                   Address state) {
  return GilBlock::read(memory, state,
                        {at.thread_next, at.thread_interpreter, at.thread_ident,
                         at.thread_native_id, at.thread_frame, at.thread_cframe,
                         at.thread_attachment});
}

// Where struct pthread keeps the kernel's number: glibc on x86-64 (all
// versions with NPTL), musl 1.2, musl 1.1. A pthread_t is that struct's
// address in both.
constexpr std::array<std::uint64_t, 3> kTidInPthread = {0x2d0, 0x30, 0x38};

std::optional<int> thread_tid(const MemoryReader& memory,
                              const CPythonLayout& at,
                              const GilBlock& state,
                              const TaskIds& tasks) {
  if (at.thread_native_id != CPythonLayout::kAbsent) {
    // Before 3.11.2 a forked child keeps its parent's; then it has no holder.
    if (const auto tid =
            tasks.outer(state.get<std::uint64_t>(at.thread_native_id))) {
      return tid;
    }
  }
  const Address pthread = state.address(at.thread_ident);
  for (const std::uint64_t offset : kTidInPthread) {
    const auto word = memory.read_value<std::uint32_t>(pthread + offset);
    if (word) {
      if (const auto tid = tasks.outer(*word)) {
        return tid;
      }
    }
  }
  return {};
}

// _Py_THREAD_ATTACHED and _Py_THREAD_SUSPENDED of Include/internal/
// pycore_pystate.h.
void read_attachment(const CPythonLayout& at,
                     const GilBlock& state,
                     PythonThread& thread) {
  const auto now = at.thread_attachment == CPythonLayout::kAbsent
                       ? 0
                       : state.get<std::int32_t>(at.thread_attachment);
  thread.attached = now == 1;
  thread.suspended = now == 2;
}

Result<Address> gil_address(const MemoryReader& memory,
                            const PythonRuntime& python,
                            std::int64_t interpreter) {
  const CPythonLayout& at = python.layout;
  const auto interpreters = TRY(read_interpreters(memory, python));
  if (at.runtime_gil != CPythonLayout::kAbsent) {
    return python.runtime + at.runtime_gil;
  }
  const auto owner =
      std::ranges::find(interpreters, interpreter, &Interpreter::id);
  if (owner == interpreters.end()) {
    return fail(ErrorId::Unreadable,
                fmt::format("no interpreter {}", interpreter));
  }
  return memory.read_address(owner->state + at.interpreter_gil);
}

// 3.6 makes its GIL with the second thread. The running thread is known with
// and without it.
Result<GilState> read_gil_36(const MemoryReader& memory,
                             const PythonRuntime& python,
                             const TaskIds& tasks) {
  if (!python.current_thread) {
    return fail(ErrorId::Unreadable, "no symbol tells where its GIL is");
  }
  GilState state;
  state.holder = TRY(memory.read_address(python.current_thread));
  state.locked = static_cast<bool>(state.holder);
  if (state.locked) {
    const auto holder =
        TRY(read_thread_state(memory, python.layout, state.holder));
    state.holder_tid = thread_tid(memory, python.layout, holder, tasks);
  }
  return state;
}

// The innermost frame that has a code object: above it there may be ones that
// the interpreter keeps on its C stack for itself.
Result<Address> holders_frame(const MemoryReader& memory,
                              const CPythonLayout& at,
                              const GilBlock& state) {
  Address frame;
  if (at.thread_cframe != CPythonLayout::kAbsent) {
    frame = TRY(memory.read_address(state.address(at.thread_cframe) +
                                    at.cframe_current_frame));
  } else {
    frame = state.address(at.thread_frame);
  }
  if (at.frame_owner_c_stack == CPythonLayout::kAbsent) {
    return frame;
  }
  for (int skipped = 0; frame && skipped < kMaxSkippedFrames; ++skipped) {
    const auto owner =
        TRY(memory.read_value<std::uint8_t>(frame + at.frame_owner));
    if (owner < at.frame_owner_c_stack) {
      break;
    }
    frame = TRY(memory.read_address(frame + at.frame_previous));
  }
  return frame;
}

Status name_frame(const MemoryReader& memory,
                  const PythonRuntime& python,
                  Address code,
                  PythonThread& thread) {
  const CPythonLayout& at = python.layout;
  const auto fields = TRY(GilBlock::read(
      memory, code,
      {at.object_type, at.code_name, at.code_qualname, at.code_filename}));
  if (fields.address(at.object_type) != python.code_type) {
    return fail(ErrorId::Unreadable,
                fmt::format("no code object at {:#x}", code.value));
  }
  const std::uint32_t name = at.code_qualname != CPythonLayout::kAbsent
                                 ? at.code_qualname
                                 : at.code_name;
  thread.function =
      TRY(read_str(memory, at, fields.address(name), kGilMaxName));
  thread.file =
      TRY(read_str(memory, at, fields.address(at.code_filename), kGilMaxName));
  return {};
}

// Its frame and position; the code object that it runs, 0 if none.
Result<Address> read_place(const MemoryReader& memory,
                           const CPythonLayout& at,
                           const GilBlock& state,
                           PythonThread& thread) {
  thread.frame = TRY(holders_frame(memory, at, state));
  if (!thread.frame) {
    return Address{};
  }
  const auto frame = TRY(
      GilBlock::read(memory, thread.frame, {at.frame_code, at.frame_position}));
  thread.position = at.frame_position_size == 4
                        ? static_cast<std::uint64_t>(
                              frame.get<std::uint32_t>(at.frame_position))
                        : frame.get<std::uint64_t>(at.frame_position);
  // From 3.14 the lowest bits of a reference are tags; objects are aligned.
  return Address{frame.get<std::uint64_t>(at.frame_code) & ~std::uint64_t{7}};
}

Result<std::vector<PythonThread>> read_threads_once(const MemoryReader& live,
                                                    const PythonRuntime& python,
                                                    const TaskIds& tasks,
                                                    bool places) {
  const CachedMemory memory(live);  // thread states lie side by side
  const CPythonLayout& at = python.layout;
  std::vector<PythonThread> threads;
  for (const auto& [interpreter, id] : TRY(read_interpreters(memory, python))) {
    Address state =
        TRY(memory.read_address(interpreter + at.interpreter_threads_head));
    while (state) {
      if (threads.size() >= kMaxThreads) {
        return fail(ErrorId::Unreadable,
                    "the interpreter's list of threads has no end");
      }
      const auto fields = TRY(read_thread_state(memory, at, state));
      if (fields.address(at.thread_interpreter) != interpreter) {
        return fail(ErrorId::Unreadable,
                    fmt::format("no thread state at {:#x}", state.value));
      }
      PythonThread thread;
      thread.state = state;
      thread.interpreter = id;
      thread.ident = fields.get<std::uint64_t>(at.thread_ident);
      thread.tid = thread_tid(memory, at, fields, tasks);
      read_attachment(at, fields, thread);
      // A frame that changes while we look has no name this time; the thread
      // is there all the same.
      const auto code =
          places ? read_place(memory, at, fields, thread) : Address{};
      if (code && *code && !name_frame(memory, python, *code, thread)) {
        thread.function.clear();
        thread.file.clear();
      }
      threads.push_back(std::move(thread));
      state = fields.address(at.thread_next);
    }
  }
  return threads;
}

}  // namespace

Result<GilState> read_gil(const MemoryReader& memory,
                          const PythonRuntime& python,
                          const TaskIds& tasks,
                          std::int64_t interpreter) {
  const CPythonLayout& at = python.layout;
  if (at.gil_locked == CPythonLayout::kAbsent) {
    return read_gil_36(memory, python, tasks);
  }
  const Address gil = TRY(gil_address(memory, python, interpreter));
  const auto fields = TRY(GilBlock::read(
      memory, gil, {at.gil_locked, at.gil_last_holder, at.gil_enabled}));
  GilState state;
  state.locked_word = gil + at.gil_locked;
  if (at.gil_enabled != CPythonLayout::kAbsent &&
      fields.get<std::int32_t>(at.gil_enabled) == 0) {
    state.enabled = false;
    return state;
  }

  switch (fields.get<std::int32_t>(at.gil_locked)) {
    case -1:
      return fail(ErrorId::NotInitialized,
                  "the interpreter has not made its GIL yet",
                  "try again in a moment");
    case 0:
      return state;
    case 1:
      break;
    default:
      return fail(ErrorId::Unreadable,
                  fmt::format("there is no GIL at {:#x}", gil.value));
  }
  state.locked = true;
  state.holder = fields.address(at.gil_last_holder);
  if (const auto holder = read_thread_state(memory, at, state.holder)) {
    state.holder_tid = thread_tid(memory, at, *holder, tasks);
  }
  return state;
}

Result<std::vector<PythonThread>> python_threads(const MemoryReader& memory,
                                                 const PythonRuntime& python,
                                                 const TaskIds& tasks,
                                                 bool places) {
  auto threads = read_threads_once(memory, python, tasks, places);
  for (int tried = 1; !threads && tried < kGilTries; ++tried) {
    threads = read_threads_once(memory, python, tasks, places);
  }
  return threads;
}

Result<PythonThread> look_again(const MemoryReader& memory,
                                const PythonRuntime& python,
                                PythonThread thread) {
  const auto fields =
      TRY(read_thread_state(memory, python.layout, thread.state));
  read_attachment(python.layout, fields, thread);
  TRY(read_place(memory, python.layout, fields, thread));
  return thread;
}

Result<std::int64_t> interpreter_of(const MemoryReader& memory,
                                    const PythonRuntime& python,
                                    const TaskIds& tasks,
                                    int tid) {
  if (TRY(read_interpreters(memory, python)).size() == 1) {
    return 0;  // as in nearly every process
  }
  const auto threads = TRY(python_threads(memory, python, tasks));
  std::int64_t found = 0;
  for (const PythonThread& thread : threads) {
    if (thread.tid == tid && thread.frame) {
      found = std::max(found, thread.interpreter);
    }
  }
  return found;
}

// Its own condition lies beside its flag (struct _gil_runtime_state).
bool is_gil_wait(const GilState& gil, const TaskSyscall& call) {
  constexpr std::uint64_t kNear = 256;
  return gil.locked_word && !call.running && call.number == SYS_futex &&
         Address{call.args[0]} >= gil.locked_word &&
         Address{call.args[0]} < gil.locked_word + kNear;
}

}  // namespace hangdbg
