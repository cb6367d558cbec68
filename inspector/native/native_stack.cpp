// libunwind's remote interface over our own accessors.
//
// Not _UPT_*: that opens the target's files, which a chroot, a mount namespace
// or an upgrade makes wrong. libunwind-x86_64 exports the search through an
// .eh_frame_hdr table that lies in the target's memory; the rest is reading.
#include "inspector/native/native_stack.h"

#include <fmt/core.h>
#include <libunwind-x86_64.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "inspector/native/unwind_tables.h"
#include "tracee/arch/x86_64/registers_x86_64.h"
#include "tracee/memory/cached_memory.h"

// From libunwind's own dwarf.h, which is not installed; the name is part of
// the library's ABI (libunwind-ptrace and -coredump call it).
extern "C" int _Ux86_64_dwarf_search_unwind_table(unw_addr_space_t space,
                                                  unw_word_t ip,
                                                  unw_dyn_info_t* table,
                                                  unw_proc_info_t* out,
                                                  int need_unwind_info,
                                                  void* arg);

// libunwind-x86_64 resumes its own process's threads with this, which is in
// libunwind.a beside the _Unwind_* that must not replace libgcc's. We unwind
// other processes only; should it ever be called, it fails as documented.
extern "C" int _Ux86_64_setcontext(const unw_tdep_context_t*) {
  return -1;
}

namespace hangdbg {
namespace {

// What one stack may cost: a loop in the target's DWARF expressions reads for
// ever without making a frame.
constexpr std::uint64_t kMaxReads = 2'000'000;
constexpr std::uint64_t kReadsBetweenClockLooks = 1024;

constexpr std::uint64_t kMaxScan = 4U << 20;

// mov $15,%rax; syscall: what a signal handler returns to, rt_sigreturn.
// Debuggers know it by these bytes.
constexpr std::array<unsigned char, 9> kSignalReturn = {
    0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};

const unsigned long long* register_in(const user_regs_struct& registers,
                                      unw_regnum_t number) {
  switch (number) {
    case UNW_X86_64_RAX:
      return &registers.rax;
    case UNW_X86_64_RDX:
      return &registers.rdx;
    case UNW_X86_64_RCX:
      return &registers.rcx;
    case UNW_X86_64_RBX:
      return &registers.rbx;
    case UNW_X86_64_RSI:
      return &registers.rsi;
    case UNW_X86_64_RDI:
      return &registers.rdi;
    case UNW_X86_64_RBP:
      return &registers.rbp;
    case UNW_X86_64_RSP:
      return &registers.rsp;
    case UNW_X86_64_R8:
      return &registers.r8;
    case UNW_X86_64_R9:
      return &registers.r9;
    case UNW_X86_64_R10:
      return &registers.r10;
    case UNW_X86_64_R11:
      return &registers.r11;
    case UNW_X86_64_R12:
      return &registers.r12;
    case UNW_X86_64_R13:
      return &registers.r13;
    case UNW_X86_64_R14:
      return &registers.r14;
    case UNW_X86_64_R15:
      return &registers.r15;
    case UNW_X86_64_RIP:
      return &registers.rip;
    default:
      return nullptr;
  }
}

}  // namespace

struct NativeUnwinder::Impl {
  Impl(const MemoryReader& memory, const std::vector<Module>& modules);
  ~Impl();

  Result<NativeStack> unwind(const user_regs_struct& registers,
                             Deadline deadline,
                             std::size_t most);
  std::optional<std::size_t> module_at(Address pc) const;
  bool may_read();
  bool is_signal_return(Address pc);
  std::optional<user_regs_struct> saved_by_signal(Address sp);
  int find_proc_info(unw_word_t ip, unw_proc_info_t* out, int need_info);

  CachedMemory memory_;
  std::vector<std::pair<AddressRange, std::size_t>> ranges_;  // sorted
  std::vector<AddressRange> constant_;  // read-only segments, sorted
  UnwindTables tables_;
  unw_addr_space_t space_ = nullptr;

  // Of the stack being unwound.
  const user_regs_struct* registers_ = nullptr;
  Deadline deadline_ = Deadline::in({});
  std::uint64_t reads_ = 0;
  unw_cursor_t* cursor_ = nullptr;
  bool lost_ = false;      // no unwind information for some frame
  bool baseless_ = false;  // rbp was needed, and is not known
  unw_word_t base_ = 0;    // rbp there
};

// libunwind calls these with the Impl as `arg`.
struct NativeUnwinder::Access {
  static int find_proc_info(unw_addr_space_t,
                            unw_word_t ip,
                            unw_proc_info_t* out,
                            int need_info,
                            void* arg) {
    return static_cast<Impl*>(arg)->find_proc_info(ip, out, need_info);
  }
  static void put_unwind_info(unw_addr_space_t, unw_proc_info_t*, void*) {}
  static int no_dynamic_info(unw_addr_space_t, unw_word_t*, void*) {
    return -UNW_ENOINFO;
  }
  static int access_mem(unw_addr_space_t,
                        unw_word_t at,
                        unw_word_t* value,
                        int write,
                        void* arg) {
    auto* impl = static_cast<Impl*>(arg);
    if (write != 0 || !impl->may_read()) {
      return -UNW_EINVAL;
    }
    const auto word = impl->tables_.read_word(Address{at});
    if (!word) {
      return -UNW_EINVAL;
    }
    *value = *word;
    return 0;
  }
  static int access_reg(unw_addr_space_t,
                        unw_regnum_t number,
                        unw_word_t* value,
                        int write,
                        void* arg) {
    if (write != 0) {
      return -UNW_EREADONLYREG;
    }
    const auto* found =
        register_in(*static_cast<Impl*>(arg)->registers_, number);
    if (found == nullptr) {
      return -UNW_EBADREG;
    }
    *value = *found;
    if (number == UNW_X86_64_RBP && *found == 0) {
      static_cast<Impl*>(arg)->baseless_ = true;
    }
    return 0;
  }
  static int access_fpreg(unw_addr_space_t,
                          unw_regnum_t,
                          unw_fpreg_t*,
                          int,
                          void*) {
    return -UNW_EBADREG;
  }
  static int resume(unw_addr_space_t, unw_cursor_t*, void*) {
    return -UNW_EINVAL;
  }
  static int get_proc_name(unw_addr_space_t,
                           unw_word_t,
                           char*,
                           std::size_t,
                           unw_word_t*,
                           void*) {
    return -UNW_ENOINFO;
  }

  static unw_accessors_t table() {
    unw_accessors_t accessors{};
    accessors.find_proc_info = find_proc_info;
    accessors.put_unwind_info = put_unwind_info;
    accessors.get_dyn_info_list_addr = no_dynamic_info;
    accessors.access_mem = access_mem;
    accessors.access_reg = access_reg;
    accessors.access_fpreg = access_fpreg;
    accessors.resume = resume;
    accessors.get_proc_name = get_proc_name;
    return accessors;
  }
};

NativeUnwinder::NativeUnwinder(const MemoryReader& memory,
                               const std::vector<Module>& modules)
    : impl_(std::make_unique<Impl>(memory, modules)) {}

NativeUnwinder::~NativeUnwinder() = default;

Result<NativeStack> NativeUnwinder::unwind(const user_regs_struct& registers,
                                           Deadline deadline,
                                           std::size_t most) {
  return impl_->unwind(registers, deadline, most);
}

std::optional<AddressRange> NativeUnwinder::function_at(Address code) {
  impl_->reads_ = 0;
  unw_proc_info_t found{};
  return impl_->find_proc_info(code.value, &found, 0) >= 0
             ? std::optional(
                   AddressRange{Address{found.start_ip}, Address{found.end_ip}})
             : std::nullopt;
}

bool stack_mentions(const MemoryReader& memory,
                    Address sp,
                    Address stack_end,
                    std::span<const AddressRange> ranges) {
  if (ranges.empty()) {
    return false;
  }
  const Address start{(sp.value - std::min(sp.value, kRedZone)) & ~7ULL};
  if (stack_end <= start || stack_end - start > kMaxScan) {
    return true;
  }
  std::vector<std::uint64_t> words((stack_end - start) / 8);
  if (!memory.read(start, std::as_writable_bytes(std::span(words)))) {
    return true;
  }
  const Address lowest = ranges.front().start;
  const Address highest = ranges.back().end;
  return std::ranges::any_of(words, [&](std::uint64_t word) {
    const Address address{word};
    if (address < lowest || highest <= address) {
      return false;  // nearly all words
    }
    // A return address may be the first byte behind a range.
    const auto after =
        std::ranges::upper_bound(ranges, address, {}, &AddressRange::start);
    return after != ranges.begin() && address <= std::prev(after)->end;
  });
}

NativeUnwinder::Impl::Impl(const MemoryReader& memory,
                           const std::vector<Module>& modules)
    : memory_(memory), tables_(memory_, modules) {
  for (std::size_t i = 0; i < modules.size(); ++i) {
    ranges_.emplace_back(AddressRange{modules[i].base, modules[i].end}, i);
    for (const Mapping& segment : modules[i].segments) {
      if (!segment.writable) {
        constant_.push_back({segment.start, segment.end});
      }
    }
  }
  std::ranges::sort(ranges_, {}, [](const auto& r) { return r.first.start; });
  std::ranges::sort(constant_, {}, &AddressRange::start);

  static unw_accessors_t accessors = Access::table();
  space_ = unw_create_addr_space(&accessors, 0);
  if (space_ != nullptr) {
    unw_set_caching_policy(space_, UNW_CACHE_GLOBAL);
  }
}

NativeUnwinder::Impl::~Impl() {
  if (space_ != nullptr) {
    unw_destroy_addr_space(space_);
  }
}

Result<NativeStack> NativeUnwinder::Impl::unwind(
    const user_regs_struct& registers,
    Deadline deadline,
    std::size_t most) {
  if (space_ == nullptr) {
    return fail(ErrorId::System, "no memory for an unwinder");
  }
  memory_.forget([&](Address page) {
    const auto after =
        std::ranges::upper_bound(constant_, page, {}, &AddressRange::start);
    return after == constant_.begin() || std::prev(after)->end <= page;
  });
  registers_ = &registers;
  deadline_ = deadline;
  reads_ = 0;

  NativeStack stack;
  unw_cursor_t cursor;
  if (unw_init_remote(&cursor, space_, this) < 0) {
    return fail(ErrorId::Unreadable, "the thread's registers make no sense");
  }
  cursor_ = &cursor;
  user_regs_struct resumed{};
  bool interrupted = true;
  while (stack.frames.size() < most) {
    unw_word_t pc = 0;
    unw_word_t sp = 0;
    unw_get_reg(&cursor, UNW_REG_IP, &pc);
    unw_get_reg(&cursor, UNW_REG_SP, &sp);
    if (pc == 0) {
      stack.complete = !stack.frames.empty();
      stack.null_caller = true;
      break;
    }
    stack.frames.push_back(
        {Address{pc}, Address{sp}, module_at(Address{pc}), interrupted});
    interrupted = is_signal_return(Address{pc});

    lost_ = false;
    baseless_ = false;
    const int rc = unw_step(&cursor);
    if (lost_ && interrupted) {
      // libunwind knows a signal's frame by its table alone.
      if (const auto saved = saved_by_signal(Address{sp})) {
        resumed = *saved;
        registers_ = &resumed;
        unw_init_remote(&cursor, space_, this);
        continue;
      }
    }
    stack.untabled = lost_;
    stack.base = Address{base_};
    if (stack.untabled || rc < 0 || reads_ > kMaxReads) {
      // Where DWARF ends libunwind continues by frame pointers; we do not.
      stack.baseless = !stack.untabled && rc < 0 && baseless_;
      break;
    }
    if (rc == 0) {
      stack.complete = true;
      break;
    }
  }
  cursor_ = nullptr;
  if (stack.frames.empty()) {
    return fail(ErrorId::Unreadable, "the thread has no program counter");
  }
  return stack;
}

std::optional<std::size_t> NativeUnwinder::Impl::module_at(Address pc) const {
  const auto after = std::ranges::upper_bound(
      ranges_, pc, {}, [](const auto& r) { return r.first.start; });
  if (after == ranges_.begin() || !std::prev(after)->first.contains(pc)) {
    return {};
  }
  return std::prev(after)->second;
}

bool NativeUnwinder::Impl::may_read() {
  if (reads_ % kReadsBetweenClockLooks == 0 && deadline_.expired()) {
    reads_ = kMaxReads;
  }
  return ++reads_ <= kMaxReads;
}

bool NativeUnwinder::Impl::is_signal_return(Address pc) {
  const auto code = memory_.read_value<std::array<unsigned char, 9>>(pc);
  return code && *code == kSignalReturn;
}

// `sp` is where the handler has returned to: there the kernel has put a
// ucontext.
std::optional<user_regs_struct> NativeUnwinder::Impl::saved_by_signal(
    Address sp) {
  const auto context =
      memory_.read_value<mcontext_t>(sp + offsetof(ucontext_t, uc_mcontext));
  if (!context) {
    return {};
  }
  const auto saved = [&](int number) {
    return static_cast<unsigned long long>(context->gregs[number]);
  };
  user_regs_struct registers{};
  registers.rip = saved(REG_RIP);
  registers.rsp = saved(REG_RSP);
  registers.rbp = saved(REG_RBP);
  registers.rbx = saved(REG_RBX);
  registers.r10 = saved(REG_R10);
  registers.r12 = saved(REG_R12);
  registers.r13 = saved(REG_R13);
  registers.r14 = saved(REG_R14);
  registers.r15 = saved(REG_R15);
  return registers;
}

int NativeUnwinder::Impl::find_proc_info(unw_word_t ip,
                                         unw_proc_info_t* out,
                                         int need_info) {
  const auto module = module_at(Address{ip});
  if (unw_dyn_info_t* const table = module ? tables_.find(*module) : nullptr) {
    const int rc = _Ux86_64_dwarf_search_unwind_table(space_, ip, table, out,
                                                      need_info, this);
    if (rc >= 0) {
      return rc;
    }
  }
  lost_ = true;
  // libunwind will change it in the same step: it continues by frame pointers.
  if (cursor_ != nullptr) {
    unw_get_reg(cursor_, UNW_X86_64_RBP, &base_);
  }
  return -UNW_ENOINFO;
}

}  // namespace hangdbg
