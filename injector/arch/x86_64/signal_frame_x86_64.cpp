#include "injector/arch/x86_64/signal_frame_x86_64.h"

#include <cpuid.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace hangdbg {
namespace {

// struct _fpx_sw_bytes (arch/x86/include/uapi/asm/sigcontext.h): in the unused
// end of the legacy area, it tells the kernel how much follows.
struct SoftwareBytes {
  std::uint32_t magic = 0x46505853;  // FP_XSTATE_MAGIC1
  std::uint32_t extended_size = 0;
  std::uint64_t features = 0;
  std::uint32_t state_size = 0;
  std::uint32_t padding[7] = {};
};
static_assert(sizeof(SoftwareBytes) == 48);
constexpr std::uint32_t kEndMagic = 0x46505845;  // FP_XSTATE_MAGIC2
constexpr std::size_t kSoftwareBytes = 464;
constexpr std::size_t kHeader = 512;
constexpr std::size_t kHeaderEnd = 576;
// AMX's, which a thread has only if it asked for them; else the kernel's idea
// of the state's size is without them.
constexpr std::uint64_t kOnDemand = std::uint64_t{3} << 17;

// ucontext_t of the libc has room behind what the kernel's has.
constexpr std::size_t kContextSize = offsetof(ucontext_t, uc_sigmask) + 8;
constexpr std::uint64_t kContextFlags = 7;  // UC_FP_XSTATE, UC_SIGCONTEXT_SS,
                                            // UC_STRICT_RESTORE_SS
// No such mode, so that the kernel leaves the alternate stack as it is.
constexpr int kNoMode = 0x7;
// Direction, trap and resume: the ABI and the kernel clear them for a handler.
constexpr std::uint64_t kClearedFlags = 0x400 | 0x100 | 0x10000;

// rt_sigreturn's number into rax, and the call.
constexpr std::array kSigreturn = {
    std::byte{0x48}, std::byte{0xc7}, std::byte{0xc0},
    std::byte{0x0f}, std::byte{0x00}, std::byte{0x00},
    std::byte{0x00}, std::byte{0x0f}, std::byte{0x05}};

template <class T>
T at(const std::vector<std::byte>& bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// Where the last of these features ends in the standard layout; all machines
// of one kernel have it alike, so ours may be read (CPUID leaf 0xd).
std::size_t size_of(std::uint64_t features) {
  std::size_t end = kHeaderEnd;
  for (unsigned i = 2; i < 63; ++i) {
    unsigned size = 0, offset = 0, c = 0, d = 0;
    if ((features >> i & 1) != 0 &&
        __get_cpuid_count(0xd, i, &size, &offset, &c, &d) != 0) {
      end = std::max<std::size_t>(end, std::size_t{offset} + size);
    }
  }
  return end;
}

// The vector state as the kernel reads it from a frame.
Result<std::vector<std::byte>> framed(const ExtendedState& state) {
  std::vector<std::byte> bytes = state.bytes;
  if (bytes.size() < kHeaderEnd) {
    return fail(ErrorId::NoSafeThread, "the CPU has no XSAVE");
  }
  SoftwareBytes software;
  software.features = at<std::uint64_t>(bytes, kSoftwareBytes);  // XCR0
  if ((at<std::uint64_t>(bytes, kHeader) & kOnDemand) == 0) {
    software.features &= ~kOnDemand;
  }
  const std::size_t size = std::min(size_of(software.features), bytes.size());
  software.state_size = static_cast<std::uint32_t>(size);
  software.extended_size = static_cast<std::uint32_t>(size + sizeof kEndMagic);
  bytes.resize(size);
  std::memcpy(bytes.data() + kSoftwareBytes, &software, sizeof software);
  const auto end = std::as_bytes(std::span(&kEndMagic, 1));
  bytes.insert(bytes.end(), end.begin(), end.end());
  return bytes;
}

// Other calls have been made since, so the kernel has forgotten what it
// remembered of this one (restart_syscall). One with a point in time as its
// limit is the same call again; of one with a duration EINTR tells.
ResumePoint late_resume_point(const Registers& registers) {
  const ResumePoint now = resume_point(registers);
  if (now.rax != SYS_restart_syscall || now.pc == registers.pc()) {
    return now;
  }
  if (registers.syscall_number() == SYS_futex &&
      (registers.raw.rsi & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET) {
    return {now.pc, registers.raw.orig_rax};
  }
  return {registers.pc(), static_cast<std::uint64_t>(-EINTR)};
}

// The kernel's word for how the call is to be made again; 0: it is not.
std::int64_t late_restart_code(const Registers& registers) {
  return late_resume_point(registers).pc == registers.pc()
             ? 0
             : static_cast<std::int64_t>(registers.raw.rax);
}

void put_registers(gregset_t& to, const Registers& registers) {
  const user_regs_struct& raw = registers.raw;
  const ResumePoint resume = late_resume_point(registers);
  const auto set = [&](int index, std::uint64_t value) {
    to[index] = static_cast<greg_t>(value);
  };
  set(REG_R8, raw.r8);
  set(REG_R9, raw.r9);
  set(REG_R10, raw.r10);
  set(REG_R11, raw.r11);
  set(REG_R12, raw.r12);
  set(REG_R13, raw.r13);
  set(REG_R14, raw.r14);
  set(REG_R15, raw.r15);
  set(REG_RDI, raw.rdi);
  set(REG_RSI, raw.rsi);
  set(REG_RBP, raw.rbp);
  set(REG_RBX, raw.rbx);
  set(REG_RDX, raw.rdx);
  set(REG_RAX, resume.rax);
  set(REG_RCX, raw.rcx);
  set(REG_RSP, raw.rsp);
  set(REG_RIP, resume.pc.value);
  set(REG_EFL, raw.eflags);
  set(REG_CSGSFS, raw.cs | raw.ss << 48);
}

}  // namespace

Result<SignalFrame> SignalFrame::make(const Interrupted& interrupted,
                                      Address sigreturn) {
  const auto vectors = TRY(framed(interrupted.extended));
  const Address top = interrupted.registers.sp() - kRedZone;
  // XRSTOR wants 64 bytes of alignment; a function's stack pointer on entry is
  // 8 below a multiple of 16.
  const Address vectors_at{(top.value - vectors.size()) & ~std::uint64_t{63}};
  SignalFrame frame;
  frame.at =
      Address{(vectors_at.value - kContextSize - 8) & ~std::uint64_t{15}} - 8;

  ucontext_t context{};
  context.uc_flags = kContextFlags;
  context.uc_stack.ss_flags = kNoMode;
  context.uc_link = reinterpret_cast<ucontext_t*>(
      static_cast<std::uint64_t>(late_restart_code(interrupted.registers)));
  put_registers(context.uc_mcontext.gregs, interrupted.registers);
  std::memcpy(&context.uc_mcontext.fpregs, &vectors_at.value,
              sizeof vectors_at.value);
  std::memcpy(&context.uc_sigmask, &interrupted.signal_mask,
              sizeof interrupted.signal_mask);

  frame.bytes.resize(vectors_at - frame.at + vectors.size());
  std::memcpy(frame.bytes.data(), &sigreturn.value, sizeof sigreturn.value);
  std::memcpy(frame.bytes.data() + 8, &context, kContextSize);
  std::ranges::copy(
      vectors, frame.bytes.begin() + static_cast<long>(vectors_at - frame.at));
  return frame;
}

Registers SignalFrame::on_entry(const Registers& own,
                                Address frame,
                                Address function,
                                std::uint64_t argument) {
  Registers registers = own;
  registers.raw.rip = function.value;
  registers.raw.rsp = frame.value;
  registers.raw.rdi = argument;
  registers.raw.eflags &= ~kClearedFlags;
  // Or the kernel would "restart" the interrupted call by moving our PC.
  registers.raw.orig_rax = static_cast<unsigned long long>(-1);
  return registers;
}

Result<Address> find_sigreturn(const MemoryReader& memory, const Module& libc) {
  for (const Mapping& mapping : libc.segments) {
    if (!mapping.executable) {
      continue;
    }
    std::vector<std::byte> code(mapping.end - mapping.start);
    if (!memory.read(mapping.start, code)) {
      continue;
    }
    if (const auto found = std::ranges::search(code, kSigreturn);
        !found.empty()) {
      return mapping.start +
             static_cast<std::uint64_t>(found.begin() - code.begin());
    }
  }
  return fail(ErrorId::NoSafeThread, "no rt_sigreturn in " + libc.path);
}

}  // namespace hangdbg
