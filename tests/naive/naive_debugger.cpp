// What hangdbg must not be: a debugger of the classic kind, which calls
// functions on whatever thread it finds.
//
//     naive_debugger PID SEED
//
// It stops a thread without looking at what it is doing, makes it call dlopen
// and dlclose with an int3 to return to, and puts its registers back. It does
// that as carefully as such a debugger can: seized and not attached, below the
// red zone, with the interrupted call restarted. Yet if it dies in mid-call,
// the thread meets the int3; and the call waits for ever if the thread held
// the loader's or the allocator's lock. So the stress in test_killed.py, which
// finds no harm in hangdbg, must find some here.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

#include "base/deadline.h"
#include "base/fd.h"
#include "base/result.h"
#include "tracee/elf/elf_symbols.h"
#include "tracee/memory/memory.h"
#include "tracee/proc/proc_maps.h"
#include "tracee/proc/proc_tasks.h"
#include "tracee/ptrace/traced_thread.h"

namespace hangdbg {
namespace {

constexpr auto kCallTime = std::chrono::seconds(1);
constexpr std::byte kBreakpoint{0xcc};
constexpr char kLibrary[] = "libutil.so.1";

struct Functions {
  Address dlopen;
  Address dlclose;
  Address entry_point;  // of the program: nobody comes there any more
};

Result<Functions> find_functions(const LiveMemory& memory, int pid) {
  Functions found;
  for (const Module& module : find_modules(TRY(read_maps(pid)))) {
    const auto image = ElfImage::read(memory, module.base);
    if (!image) {
      continue;
    }
    if (!found.entry_point) {
      // e_entry of the first module, which is the program.
      found.entry_point =
          Address{image->bias()} +
          TRY(memory.read_value<std::uint64_t>(module.base + 24));
    }
    const auto open = image->find(memory, "dlopen");
    const auto close = image->find(memory, "dlclose");
    if (open && close) {
      found.dlopen = open->address;
      found.dlclose = close->address;
      return found;
    }
  }
  return fail(ErrorId::System, "no dlopen in the target");
}

Status write_byte(const Fd& proc_mem, Address to, std::byte byte) {
  if (::pwrite(proc_mem.get(), &byte, 1, static_cast<off_t>(to.value)) != 1) {
    return fail_errno("cannot set the breakpoint");
  }
  return {};
}

// Runs `function` on the stopped thread until it comes to the breakpoint.
Result<std::uint64_t> call(TracedThread& thread,
                           const LiveMemory& memory,
                           const Registers& own,
                           Address function,
                           Address breakpoint,
                           std::uint64_t first,
                           std::uint64_t second,
                           Address sp) {
  Registers there = own;
  there.raw.rip = function.value;
  there.raw.rdi = first;
  there.raw.rsi = second;
  there.raw.rsp = sp.value;
  there.raw.rax = 0;
  there.raw.orig_rax = static_cast<unsigned long long>(-1);
  const std::uint64_t to = breakpoint.value;
  TRY(memory.write(sp, std::as_bytes(std::span(&to, 1))));
  TRY(thread.set_registers(there));
  TRY(thread.resume());
  for (const Deadline deadline = Deadline::in(kCallTime);;) {
    const auto status = TRY(thread.poll());
    if (status && status->signal() == SIGTRAP) {
      return TRY(thread.registers()).raw.rax;
    }
    if (status) {
      TRY(thread.resume(status->signal()));
    }
    if (deadline.expired()) {
      TRY(thread.interrupt(Deadline::in(kCallTime)));
      return fail(ErrorId::TimedOut, "the call does not return");
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

Status debug(int pid, unsigned seed) {
  const LiveMemory memory(pid);
  const auto functions = TRY(find_functions(memory, pid));
  const Fd proc_mem(
      ::open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDWR | O_CLOEXEC));
  const auto tids = TRY(list_tasks(pid));

  auto thread = TRY(TracedThread::seize(tids[seed % tids.size()]));
  TRY(thread.interrupt(Deadline::in(kCallTime)));
  const auto own = TRY(thread.registers());
  const auto extended = TRY(thread.extended_state());
  const auto instruction =
      TRY(memory.read_value<std::byte>(functions.entry_point));
  TRY(write_byte(proc_mem, functions.entry_point, kBreakpoint));

  const Address name{(own.sp().value - kRedZone - sizeof kLibrary) &
                     ~std::uint64_t{15}};
  TRY(memory.write(name, std::as_bytes(std::span(kLibrary))));
  const Address sp =
      name - 8;  // as a call leaves it: 8 beside a multiple of 16
  auto called = call(thread, memory, own, functions.dlopen,
                     functions.entry_point, name.value, 2 /* RTLD_NOW */, sp);
  if (called && *called != 0) {
    called = call(thread, memory, own, functions.dlclose, functions.entry_point,
                  *called, 0, sp);
  }

  TRY(write_byte(proc_mem, functions.entry_point, instruction));
  TRY(thread.set_extended_state(extended));
  TRY(thread.set_registers(own));
  TRY(thread.detach());
  return called ? Status{} : std::unexpected(called.error());
}

}  // namespace
}  // namespace hangdbg

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: naive_debugger PID SEED\n");
    return 2;
  }
  const auto done =
      hangdbg::debug(std::atoi(argv[1]),
                     static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10)));
  if (!done) {
    fmt::print(stderr, "naive_debugger: {}\n", done.error().text());
    return 4;
  }
  return 0;
}
