#include "injector/checks/danger.h"

#include <fmt/core.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "tracee/arch/x86_64/registers_x86_64.h"
#include "tracee/memory/cached_memory.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMaxLinkMapSteps = 64;

constexpr std::array kAllocator = {
    "malloc",        "calloc",       "realloc",  "free",
    "memalign",      "valloc",       "pvalloc",  "posix_memalign",
    "aligned_alloc", "reallocarray", "cfree",    "malloc_trim",
    "malloc_info",   "malloc_stats", "mallinfo", "mallinfo2",
    "mallopt",       "sbrk",
};

// What takes the loader's lock from inside libc.
constexpr std::array kLoader = {
    "dlopen",
    "dlmopen",
    "dlclose",
    "dlsym",
    "dlvsym",
    "dladdr",
    "dladdr1",
    "dlinfo",
    "dlerror",
    "dl_iterate_phdr",
    "__libc_dlopen_mode",
    "__libc_dlclose",
    "__libc_dlsym",
};

// What starts and ends threads and processes. Not clone: every thread of an
// older glibc has it as its outermost frame.
constexpr std::array kLifecycle = {
    "pthread_create", "fork",
    "_Fork",          "vfork",
    "posix_spawn",    "posix_spawnp",
    "system",         "popen",
    "exit",           "quick_exit",
    "abort",          "__cxa_finalize",
    "__cxa_atexit",   "__register_atfork",
};

// In these a plain FUTEX_WAIT is the wait that the program called, not one
// of libc's own locks: pthread_join before glibc 2.34, mutexes, conditions
// before 2.33.
constexpr std::array kPlainWaits = {
    "pthread_join",           "pthread_timedjoin_np",
    "pthread_mutex_lock",     "pthread_cond_wait",
    "pthread_cond_timedwait", "pthread_rwlock_rdlock",
    "pthread_rwlock_wrlock",  "sem_wait",
    "sem_timedwait",
};

// CPython waits for the GIL, and for nothing else, on a condition
// (Python/ceval_gil.c); its locks are semaphores.
constexpr std::array kConditionWaits = {
    "pthread_cond_wait",
    "pthread_cond_timedwait",
    "pthread_cond_clockwait",
};

// The allocator makes these calls under its lock, and the others end badly.
constexpr std::array<long, 15> kForbiddenCalls = {
    SYS_mmap,  SYS_munmap, SYS_mprotect,   SYS_brk,      SYS_mremap,
    SYS_clone, SYS_clone3, SYS_madvise,    SYS_fork,     SYS_vfork,
    SYS_exit,  SYS_execve, SYS_exit_group, SYS_execveat, SYS_rt_sigreturn,
};

std::string_view file_name_of(const Module& module) {
  const std::string_view path = module.path;
  return path.substr(path.rfind('/') + 1);
}

// Its loader is its libc, one file under two names. Which of them is the link
// differs: Alpine maps ld-musl-x86_64.so.1, Debian libc.so.
bool is_musl_name(std::string_view name) {
  return name.starts_with("ld-musl-") || name.starts_with("libc.musl-") ||
         name == "libc.so";
}

bool is_loader_name(std::string_view name) {
  return name.starts_with("ld-linux") || name.starts_with("ld-2.") ||
         name.starts_with("ld64.so") || name.starts_with("ld.so") ||
         is_musl_name(name);
}

// glibc before 2.34 is several libraries.
bool is_libc_name(std::string_view name) {
  static constexpr std::array kStarts = {
      "libc.so.", "libc-2.",  "libpthread.so", "libpthread-",
      "libdl.so", "libdl-2.", "librt.so",      "librt-2.",
  };
  return is_musl_name(name) ||
         std::ranges::any_of(kStarts, [&](const char* start) {
           return name.starts_with(start);
         });
}

// The loader's list of modules in the order in which symbols are searched
// (struct r_debug and link_map, <link.h>; musl's struct dso begins alike).
// Only those ahead of libc can put their own malloc in its place.
std::vector<std::size_t> ahead_of_libc(const MemoryReader& memory,
                                       const std::vector<Module>& modules,
                                       const ElfImage& loader) {
  struct Link {
    std::uint64_t base, name, dynamic, next;
  };
  Address debug;
  if (const auto glibc = loader.find(memory, "_r_debug")) {
    debug = glibc->address;
  } else if (const auto musl = loader.find(memory, "_dl_debug_addr")) {
    debug = memory.read_address(musl->address).value_or(Address{});
  }
  std::vector<std::size_t> order;
  Address link = memory.read_address(debug + 8).value_or(Address{});
  for (std::size_t step = 0; link && step < kMaxLinkMapSteps; ++step) {
    const auto fields = memory.read_value<Link>(link);
    if (!fields) {
      break;
    }
    const auto module = std::ranges::find_if(modules, [&](const Module& m) {
      return m.contains(Address{fields->dynamic});
    });
    if (module != modules.end()) {
      if (is_libc_name(file_name_of(*module))) {
        break;
      }
      order.push_back(static_cast<std::size_t>(module - modules.begin()));
    }
    link = Address{fields->next};
  }
  return order;
}

auto finder(const MemoryReader& memory, const ElfImage& image) {
  return [&](const char* name) { return image.find(memory, name); };
}

// In these a thread that their own pthread_create has not made faults at its
// first call of libc. AddressSanitizer's and LeakSanitizer's do not mind.
Status check_sanitizer(const MemoryReader& memory, const ElfImage& image) {
  static constexpr std::array kSanitizers = {
      std::pair{"__tsan_init", "ThreadSanitizer"},
      std::pair{"__msan_init", "MemorySanitizer"},
  };
  for (const auto& [symbol, name] : kSanitizers) {
    if (image.find(memory, symbol)) {
      return fail(ErrorId::Instrumented,
                  fmt::format("{} is in it, and would end it for a thread that "
                              "it has not seen begin",
                              name),
                  "hangdbg dump PID and hangdbg peek PID read it out of "
                  "process");
    }
  }
  return {};
}

// A library such as libfaketime gives another time than sem_clockwait(3) waits
// for. Without a GIL each pause of all threads waits so, and has no end if a
// thread was at work when it began: the program's own, and those that a
// breakpoint asks for. AddressSanitizer's clock is the libc's, looked at by it.
Status check_clock(const MemoryReader& memory, const ElfImage& image) {
  if (image.find(memory, "clock_gettime") &&
      image.find(memory, "sem_timedwait") &&
      !image.find(memory, "sem_clockwait") &&
      !image.find(memory, "__asan_init")) {
    return fail(ErrorId::Instrumented,
                "a library in it (libfaketime?) gives another time than "
                "sem_clockwait() goes by, and without a GIL Python's pauses "
                "may then never end",
                "hangdbg dump PID and hangdbg peek PID read it out of process");
  }
  return {};
}

StackVerdict unsafe(std::string reason) {
  return {false, std::move(reason)};
}

}  // namespace

Result<DangerousCode> DangerousCode::find(const MemoryReader& live,
                                          const std::vector<Module>& modules,
                                          const PythonRuntime& python) {
  // Some fifty symbols, all in one module's hash table.
  const CachedMemory memory(live);
  DangerousCode code;
  code.python_module_ = python.module;

  std::optional<ElfImage> loader;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    const auto name = file_name_of(modules[i]);
    const bool is_loader = is_loader_name(name);
    const bool is_libc = is_libc_name(name);
    if (!is_loader && !is_libc) {
      continue;
    }
    auto image = ElfImage::read(memory, modules[i].base);
    if (!image) {
      continue;
    }
    if (is_libc) {
      code.add_libc(i, finder(memory, *image));
    }
    if (is_loader) {
      code.musl_ = is_libc;
      if (!is_libc) {
        code.add_text(*image, "in the loader");
      }
      loader = *std::move(image);
      code.loader_modules_.push_back(i);
    }
  }
  if (!loader && python.file_symbols) {
    code.static_ = true;
    code.loader_modules_.push_back(python.module);
    code.musl_ = !python.find(memory, "__libc_init_first");
    code.add_libc(python.module, [&](const char* name) {
      return python.find_symbol(memory, name);
    });
    if (code.pthread_create_) {
      code.merge();
      return code;
    }
  }
  if (!loader || !code.pthread_create_) {
    return fail(ErrorId::NoSafeThread,
                "cannot tell which of its modules are libc and the loader");
  }

  for (const std::size_t i : ahead_of_libc(memory, modules, *loader)) {
    const auto image = ElfImage::read(memory, modules[i].base);
    if (!image) {
      continue;
    }
    TRY(check_sanitizer(memory, *image));
    if (python.free_threaded) {
      TRY(check_clock(memory, *image));
    }
    if (!image->find(memory, "malloc")) {
      continue;
    }
    // An interpreter that has an allocator linked in must not be dangerous as
    // a whole, or no thread would ever do.
    if (i == python.module ||
        file_name_of(modules[i]).find(".so") == std::string_view::npos) {
      code.add_functions(finder(memory, *image), kAllocator,
                         "in the allocator");
    } else {
      code.add_text(*image, fmt::format("in the allocator ({})",
                                        file_name_of(modules[i])));
    }
  }
  code.merge();
  return code;
}

StackVerdict DangerousCode::judge_call(const Interruption& at) {
  if (!at.in_syscall) {
    return {true, {}};
  }
  if (std::ranges::find(kForbiddenCalls, at.number) != kForbiddenCalls.end()) {
    return unsafe(
        fmt::format("in system call {}, which manages memory, "
                    "threads or processes",
                    at.number));
  }
  if (is_low_level_wait(at)) {
    return unsafe("it waits for a low-level lock");
  }
  return {true, {}};
}

StackVerdict DangerousCode::judge(const NativeStack& stack,
                                  const Interruption& at) const {
  if (static_) {
    return judge_static(stack, at);
  }
  const auto& frames = stack.frames;
  if (!is_low_level_wait(at)) {
    if (auto verdict = judge_call(at); !verdict.safe) {
      return verdict;
    }
  }
  for (const NativeFrame& frame : frames) {
    if (const Named* found = find_named(frame.code())) {
      return unsafe(found->what);
    }
  }
  if (!stack.complete) {
    return unsafe("its native stack cannot be followed to the end");
  }

  // The calls into libc at the inner end; the thread's start, which is libc's
  // too, and main's caller _start, which is not, at the outer end.
  std::size_t inner = 0;
  while (inner < frames.size() && is_libc(frames[inner])) {
    ++inner;
  }
  std::size_t outer = frames.size();
  if (outer >= inner + 2 && !is_libc(frames[outer - 1]) &&
      is_libc(frames[outer - 2])) {
    --outer;
  }
  while (outer > inner && is_libc(frames[outer - 1])) {
    --outer;
  }

  if (inner == frames.size() || outer == inner) {
    return unsafe("it is one of libc's own threads");
  }
  if (inner > 0 && !at.in_syscall) {
    return unsafe("it runs inside libc");
  }
  for (std::size_t i = inner; i < outer; ++i) {
    if (is_libc(frames[i])) {
      return unsafe("libc called what it is in");
    }
  }
  if (inner > 0 && is_low_level_wait(at) &&
      !contains(plain_waits_, frames[inner - 1].code())) {
    return unsafe("it waits for a low-level lock of libc");
  }
  if (frames[inner].module == python_module_ &&
      std::any_of(frames.begin(), frames.begin() + static_cast<long>(inner),
                  [&](const NativeFrame& frame) {
                    return contains(condition_waits_, frame.code());
                  })) {
    return unsafe("it waits for the GIL");
  }
  return {true, {}};
}

// Which frames are libc's cannot be told here, so more is refused: whatever
// runs, and every wait on a condition.
StackVerdict DangerousCode::judge_static(const NativeStack& stack,
                                         const Interruption& at) const {
  if (auto verdict = judge_call(at); !verdict.safe) {
    return verdict;
  }
  if (!at.in_syscall) {
    return unsafe("running, maybe inside libc: the program is static");
  }
  for (const NativeFrame& frame : stack.frames) {
    if (const Named* found = find_named(frame.code())) {
      return unsafe(found->what);
    }
    if (contains(condition_waits_, frame.code())) {
      return unsafe("it may wait for the GIL");
    }
  }
  return stack.complete
             ? StackVerdict{true, {}}
             : unsafe("its native stack cannot be followed to the end");
}

bool follows_syscall(const MemoryReader& memory, Address pc) {
  const auto code = memory.read_value<std::array<std::byte, 2>>(pc - 2);
  return code && std::ranges::equal(*code, kSyscallInstruction);
}

bool is_cancellable_of_musl(const MemoryReader& memory, Address pc) {
  // __syscall_cp_asm, by hand and the same since 2011: mov %r11, 8(%rsp);
  // syscall; ret
  static constexpr std::array<unsigned char, 8> kEnd = {0x4c, 0x89, 0x5c, 0x24,
                                                        0x08, 0x0f, 0x05, 0xc3};
  const auto code = memory.read_value<std::array<unsigned char, 8>>(pc - 7);
  return code && *code == kEnd;
}

void DangerousCode::add_libc(std::size_t module, const Find& find) {
  libc_modules_.push_back(module);
  add_functions(find, kAllocator, "in the allocator");
  add_functions(find, kLoader, "in the loader");
  add_functions(find, kLifecycle, "in libc");
  add_ranges(find, kPlainWaits, plain_waits_);
  add_ranges(find, kConditionWaits, condition_waits_);
  if (const auto create = find("pthread_create")) {
    pthread_module_ = module;
    pthread_create_ = create->address;
  }
}

void DangerousCode::add_functions(const Find& find,
                                  std::span<const char* const> names,
                                  const char* where) {
  for (const char* name : names) {
    if (const auto symbol = find(name)) {
      named_.push_back({{symbol->address, symbol->address + symbol->size},
                        fmt::format("{} ({})", where, name)});
    }
  }
}

void DangerousCode::add_ranges(const Find& find,
                               std::span<const char* const> names,
                               std::vector<AddressRange>& ranges) {
  for (const char* name : names) {
    if (const auto symbol = find(name)) {
      ranges.push_back({symbol->address, symbol->address + symbol->size});
    }
  }
}

void DangerousCode::add_text(const ElfImage& image, const std::string& what) {
  for (const AddressRange& range : image.text()) {
    named_.push_back({range, what});
  }
}

// The scan cannot tell a wait for the GIL by its caller, so it leaves every
// timed wait on a condition to the exact way.
void DangerousCode::merge() {
  std::vector<AddressRange> all = condition_waits_;
  for (const Named& named : named_) {
    all.push_back(named.range);
  }
  std::ranges::sort(all, {}, &AddressRange::start);
  for (const AddressRange& range : all) {
    if (!merged_.empty() && range.start <= merged_.back().end) {
      merged_.back().end = std::max(merged_.back().end, range.end);
    } else {
      merged_.push_back(range);
    }
  }
}

const DangerousCode::Named* DangerousCode::find_named(Address code) const {
  const auto found = std::ranges::find_if(
      named_, [&](const Named& named) { return named.range.contains(code); });
  return found == named_.end() ? nullptr : &*found;
}

bool DangerousCode::is_libc(const NativeFrame& frame) const {
  return frame.module &&
         std::ranges::find(libc_modules_, *frame.module) != libc_modules_.end();
}

bool DangerousCode::is_low_level_wait(const Interruption& at) {
  return at.in_syscall && at.number == SYS_futex && !at.cancellable &&
         !at.has_timeout &&
         (at.futex_op & static_cast<std::uint32_t>(FUTEX_CMD_MASK)) ==
             FUTEX_WAIT;
}

bool DangerousCode::contains(const std::vector<AddressRange>& ranges,
                             Address code) {
  return std::ranges::any_of(
      ranges, [&](const AddressRange& range) { return range.contains(code); });
}

}  // namespace hangdbg
