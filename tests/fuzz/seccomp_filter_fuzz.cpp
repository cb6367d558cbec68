// A filter of any bytes gets an answer in bounded time, and knowing more of a
// call's arguments never makes the answer worse.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "tracee/ptrace/seccomp_filter.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace hangdbg;
  if (size < sizeof(std::uint32_t) || size > 4096 * sizeof(sock_filter)) {
    return 0;
  }
  std::uint32_t word;
  std::memcpy(&word, data, sizeof word);
  data += sizeof word;
  size -= sizeof word;
  FilterProgram program(size / sizeof(sock_filter));
  if (!program.empty()) {
    std::memcpy(program.data(), data, program.size() * sizeof(sock_filter));
  }
  const std::vector<FilterProgram> filters = {program};
  const CallVerdict unknown = judge_call(filters, word % 512, {});
  const CallArgument known{word, word >> 16};
  const CallVerdict better = judge_call(
      filters, word % 512, {known, known, known, known, known, known});
  if (better.outcome > unknown.outcome) {
    std::abort();
  }
  return 0;
}
