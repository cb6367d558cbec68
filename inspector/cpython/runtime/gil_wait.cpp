#include "inspector/cpython/runtime/gil_wait.h"

#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

namespace hangdbg {
namespace {

// struct waiter (musl, src/thread/pthread_cond_timedwait.c); the newest is the
// first of its condition's list, and has none before it.
struct MuslWaiter {
  Address before;
  Address after;
  std::int32_t state = 0;
  std::int32_t barrier = 0;
};
constexpr int kMostMuslWaiters = 1000;
constexpr std::size_t kWordsOfGil = 32;  // from its flag on

bool waits_as_musl(const MemoryReader& memory,
                   const GilState& gil,
                   Address futex) {
  std::array<Address, kWordsOfGil> words{};
  if (!memory.read(gil.locked_word, std::as_writable_bytes(std::span(words)))) {
    return false;
  }
  Address waiter = futex - offsetof(MuslWaiter, barrier);
  for (int i = 0; i < kMostMuslWaiters; ++i) {
    if (std::ranges::find(words, waiter) != words.end()) {
      return true;
    }
    const auto node = memory.read_value<MuslWaiter>(waiter);
    if (!node || !node->before) {
      return false;
    }
    waiter = node->before;
  }
  return false;
}

}  // namespace

bool is_wait_for_gil(const MemoryReader& memory,
                     const GilState& gil,
                     const TaskSyscall& call) {
  return is_gil_wait(gil, call) ||
         (gil.locked_word && !call.running && call.number == SYS_futex &&
          waits_as_musl(memory, gil, Address{call.args[0]}));
}

}  // namespace hangdbg
