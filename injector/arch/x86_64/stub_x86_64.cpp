#include "injector/arch/x86_64/stub_x86_64.h"

#include <cstring>

extern "C" {
extern const std::byte hangdbg_stub_begin[];
extern const std::byte hangdbg_stub_parameters[];
extern const std::byte hangdbg_stub_end[];
}

namespace hangdbg {

// As stub_x86_64.S has them.
static_assert(offsetof(StubParameters, pthread_create) == 56);
static_assert(offsetof(StubParameters, signal_mask) == 64);
static_assert(offsetof(StubParameters, rsp) == 128);
static_assert(offsetof(StubParameters, rip) == 200);
static_assert(offsetof(StubParameters, may_yield) == 216);
static_assert(sizeof(StubParameters) == 224);
static_assert(offsetof(StubState, patience) == 8);
static_assert(offsetof(StubState, thread) == 32);
static_assert(offsetof(StubState, beat) == 184);
static_assert(sizeof(StubState) == 208);

StubStack StubStack::below(Address sp, std::size_t extended_state_size) {
  StubStack stack;
  const Address top = sp - kRedZone;
  stack.state.value = (top.value - sizeof(StubState)) & ~std::uint64_t{15};
  // XSAVE wants 64 bytes of alignment, which the calls that follow like too.
  stack.sp.value =
      (stack.state.value - extended_state_size) & ~std::uint64_t{63};
  return stack;
}

std::size_t stub_size() {
  return static_cast<std::size_t>(hangdbg_stub_end - hangdbg_stub_begin);
}

std::vector<std::byte> stub_bytes(const StubParameters& parameters) {
  std::vector<std::byte> bytes(hangdbg_stub_begin, hangdbg_stub_end);
  std::memcpy(bytes.data() + (hangdbg_stub_parameters - hangdbg_stub_begin),
              &parameters, sizeof parameters);
  return bytes;
}

void save_registers(StubParameters& parameters, const Registers& registers) {
  const user_regs_struct& raw = registers.raw;
  const ResumePoint resume = resume_point(registers);
  parameters.rax = resume.rax;
  parameters.rip = resume.pc.value;
  parameters.rbx = raw.rbx;
  parameters.rcx = raw.rcx;
  parameters.rdx = raw.rdx;
  parameters.rsi = raw.rsi;
  parameters.rdi = raw.rdi;
  parameters.rbp = raw.rbp;
  parameters.rsp = raw.rsp;
  parameters.r8 = raw.r8;
  parameters.r9 = raw.r9;
  parameters.r10 = raw.r10;
  parameters.r11 = raw.r11;
  parameters.r12 = raw.r12;
  parameters.r13 = raw.r13;
  parameters.r14 = raw.r14;
  parameters.r15 = raw.r15;
  parameters.rflags = raw.eflags;
}

Registers stub_registers(const Registers& own, Address stub, Address sp) {
  Registers registers = own;
  registers.raw.rip = stub.value;
  registers.raw.rsp = sp.value;
  // Or the kernel would "restart" the interrupted call by moving our PC.
  registers.raw.orig_rax = static_cast<unsigned long long>(-1);
  return registers;
}

namespace {

bool is_stub_code(Address pc, Address stub) {
  return stub <= pc && pc < stub + stub_size();
}

}  // namespace

bool in_stub_itself(const Registers& now, Address stub) {
  return is_stub_code(now.pc(), stub);
}

bool inside_stub(const Registers& now,
                 Address stub,
                 Address stub_sp,
                 std::uint64_t word_below_stub_sp) {
  // A function that the stub called has its return address right below the
  // stub's stack pointer, where at first the injector puts one, for a signal's
  // handler, which leaves that place alone; on its way out the stub puts its
  // flags there.
  return in_stub_itself(now, stub) ||
         (now.sp() < stub_sp &&
          is_stub_code(Address{word_below_stub_sp}, stub));
}

}  // namespace hangdbg
