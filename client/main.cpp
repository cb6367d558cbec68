// hangdbg: the debugger for hung Python processes. See docs/architecture.md.
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdio>

#include "base/parallel_map.h"
#include "client/command_line.h"
#include "client/terminal/broken_pipe.h"
#include "client/terminal/render.h"
#include "client/terminal/uncaught.h"

namespace {

// We live for milliseconds: memory is fetched in large pieces and not given
// back. (A thread's own arena, as glibc makes them, grows page by page.)
void fetch_memory_at_once() {
  ::mallopt(M_ARENA_MAX, 1);
  ::mallopt(M_TOP_PAD, 1 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
}

// A number from 0 to 2 that is free would go to the next file that is opened, a
// process's memory for one, and messages into that. As GNU's stdopen() does:
// what is closed stays unusable.
void open_standard_streams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0) {
      (void)::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  fetch_memory_at_once();
  open_standard_streams();
  hangdbg::report_uncaught();
  hangdbg::ignore_broken_pipes();
  const int code = hangdbg::end_output(hangdbg::run_command_line(argc, argv));
  if (hangdbg::threads_left_behind) {
    ::_exit(code);
  }
  return code;
}
