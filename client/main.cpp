// hangdbg: the debugger for hung Python processes. See docs/architecture.md.
#include <malloc.h>
#include <unistd.h>

#include <cstdio>

#include "base/in_parallel.h"
#include "client/broken_pipe.h"
#include "client/command_line.h"

namespace {

// We live for milliseconds: memory is fetched in large pieces and not given
// back. (A thread's own arena, as glibc makes them, grows page by page.)
void fetch_memory_at_once() {
  ::mallopt(M_ARENA_MAX, 1);
  ::mallopt(M_TOP_PAD, 1 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
}

}  // namespace

int main(int argc, char** argv) {
  fetch_memory_at_once();
  hangdbg::ignore_broken_pipes();
  const int code = hangdbg::run_command_line(argc, argv);
  if (hangdbg::threads_left_behind) {
    std::fflush(stdout);
    ::_exit(code);
  }
  return code;
}
