// The child writes each answer into a page that it shares with us; one that was
// killed by a call is followed by another, which begins with the next call. The
// first has nothing but prctl to try: where that is allowed, the others end
// with us, also in a call that is never answered.
#include "injector/checks/filter_probe.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <new>
#include <optional>
#include <thread>

#include "base/deadline.h"
#include "injector/checks/target_calls.h"

namespace hangdbg {
namespace {

// A supervisor (SECCOMP_RET_USER_NOTIF) may never answer.
constexpr auto kFilterProbePatience = std::chrono::seconds(1);
constexpr auto kFilterProbeNap = std::chrono::microseconds(100);
constexpr std::uint64_t kNoDescriptor = 0x7ffffffe;

// Written by the child.
struct Tried {
  volatile std::size_t calls;  // that it has begun
  volatile long answers[64];
};

// clone(2) of a thread that ends at once and touches no memory.
long try_clone(std::uint64_t flags) {
  static int tid_words[2];
  long result = 0;
  register int* r10 __asm__("r10") = &tid_words[1];
  register void* r8 __asm__("r8") = __builtin_thread_pointer();
  __asm__ volatile(
      "syscall\n\t"
      "testq %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "movl $60, %%eax\n\t"  // exit
      "xorl %%edi, %%edi\n\t"
      "syscall\n\t"
      "ud2\n"
      "1:"
      : "=a"(result)
      : "a"(SYS_clone), "D"(flags), "S"(0), "d"(&tid_words[0]), "r"(r10),
        "r"(r8)
      : "rcx", "r11", "memory");
  return result;
}

long try_call(const TargetCall& call) {
  std::array<std::uint64_t, 6> values{};
  for (std::size_t i = 0; i < values.size(); i++) {
    const auto& argument = call.arguments[i];
    values[i] = argument.kind == TargetCall::Argument::Descriptor
                    ? kNoDescriptor
                    : argument.value;
  }
  if (call.number == SYS_clone) {
    return try_clone(values[0]);
  }
  const long result = ::syscall(call.number, values[0], values[1], values[2],
                                values[3], values[4], values[5]);
  return result == -1 ? -errno : result;
}

CallVerdict verdict_of(const TargetCall& call, long answer) {
  if (answer == call.answer || (answer >= 0 && call.answer == 0)) {
    return {};
  }
  return {CallOutcome::Fails, answer < 0 ? static_cast<int>(-answer) : 0};
}

// Whether it ended by itself; one that does not end is killed.
bool ended_well(pid_t child) {
  int status = 0;
  for (const Deadline patience = Deadline::in(kFilterProbePatience);;) {
    if (::waitpid(child, &status, WNOHANG) != 0) {
      return WIFEXITED(status);
    }
    if (patience.expired()) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      return false;
    }
    std::this_thread::sleep_for(kFilterProbeNap);
  }
}

std::vector<CallVerdict> try_all() {
  const auto calls = target_calls();
  // Until it has been seen to be allowed.
  std::vector<CallVerdict> verdicts(calls.size(), {CallOutcome::Kills, 0});
  void* page = ::mmap(nullptr, sizeof(Tried), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    return verdicts;
  }
  auto* tried = new (page) Tried{};
  while (tried->calls < calls.size()) {
    const std::size_t first = tried->calls;
    const pid_t child = ::fork();
    if (child == 0) {
      if (first > 0 && verdicts.front().allowed()) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      }
      const std::size_t last = first > 0 ? calls.size() : 1;
      for (std::size_t i = first; i < last; i++) {
        tried->calls = i + 1;
        tried->answers[i] = try_call(calls[i]);
      }
      ::_exit(0);
    }
    if (child < 0) {
      break;
    }
    const bool well = ended_well(child);
    // The last one that it began killed it, or was exit.
    const std::size_t end = tried->calls;
    for (std::size_t i = first; i < end; i++) {
      if (i + 1 < end || well) {
        verdicts[i] = verdict_of(calls[i], tried->answers[i]);
      }
    }
    if (end == first) {
      break;
    }
  }
  ::munmap(page, sizeof(Tried));
  return verdicts;
}

}  // namespace

const std::vector<CallVerdict>& tried_calls() {
  static const std::vector<CallVerdict> verdicts = try_all();
  return verdicts;
}

}  // namespace hangdbg
