// The stub's two structs and its bytes; the code is in stub_x86_64.S, which
// also tells what it does and why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tracee/arch/x86_64/registers_x86_64.h"
#include "tracee/memory/address.h"

namespace hangdbg {

struct StubParameters {
  std::uint64_t state = 0;  // where StubState is
  std::uint64_t region_size = 0;
  std::uint64_t text_size = 0;
  std::uint64_t entry = 0;       // of the new thread, from the region's start
  std::uint64_t stack_size = 0;  // of the new thread
  std::uint64_t pthread_attr_init = 0;
  std::uint64_t pthread_attr_setstacksize = 0;
  std::uint64_t pthread_create = 0;
  // From here on: what the stub restores if the injector does not.
  std::uint64_t signal_mask = 0;
  std::uint64_t rax = 0, rbx = 0, rcx = 0, rdx = 0, rsi = 0, rdi = 0, rbp = 0,
                rsp = 0, r8 = 0, r9 = 0, r10 = 0, r11 = 0, r12 = 0, r13 = 0,
                r14 = 0, r15 = 0, rip = 0, rflags = 0;
  std::uint64_t may_yield = 1;  // 0: sched_yield would kill the target
};

enum class StubPhase : std::uint32_t {
  Running = 0,
  Mapped = 1,   // waits for `go`; seen while stopped: the region is there
  Started = 2,  // the new thread runs; waits to be restored
  Failed = 3,   // `error` says why; nothing is left; waits to be restored
  Left = 4,     // restores itself: no heartbeat for `patience`
};

struct StubState {
  StubPhase phase = StubPhase::Running;
  std::uint32_t go = 0;       // 1: the region is filled
  std::int64_t patience = 0;  // ns, by the thread's own clock; -1: leave
  std::uint64_t region = 0;
  std::int64_t error = 0;  // negative errno
  std::uint64_t thread = 0;
  std::uint64_t scratch[2 + 16] = {};
  std::uint64_t beat = 0;     // we count it on
  std::uint64_t own[2] = {};  // the stub's
};

// A borrowed stack: where the stub's things go below the thread's own.
struct StubStack {
  Address state;  // StubState
  Address sp;     // the stub's stack pointer: XSAVE's area is there

  // Bytes below the thread's stack pointer that the stub and what it calls
  // may use.
  static constexpr std::uint64_t kNeeded = 48 * 1024;

  static StubStack below(Address sp, std::size_t extended_state_size);
};

std::size_t stub_size();
std::vector<std::byte> stub_bytes(const StubParameters& parameters);

// What the stub restores, and what a thread holds that enters the stub.
void save_registers(StubParameters& parameters, const Registers& registers);
Registers stub_registers(const Registers& own, Address stub, Address sp);

// Whether the thread is at one of the stub's own instructions.
bool in_stub_itself(const Registers& now, Address stub);

// Whether the thread is still between the stub's first instruction and its
// last: there itself, or in a function that it called.
bool inside_stub(const Registers& now,
                 Address stub,
                 Address stub_sp,
                 std::uint64_t word_below_stub_sp);

}  // namespace hangdbg
