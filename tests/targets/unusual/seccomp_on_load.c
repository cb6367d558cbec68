// Installs a seccomp filter when it is loaded, for a Python that has no ctypes:
// the program in the file $SECCOMP_PROGRAM (seccomp_filter.py).
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

// linux/seccomp.h, which musl's compiler does not find.
enum { kSeccompModeFilter = 2 };

__attribute__((constructor)) static void install(void) {
  static char program[1 << 16];
  const int file = open(getenv("SECCOMP_PROGRAM"), O_RDONLY);
  const long size = read(file, program, sizeof program);
  const struct {
    unsigned short count;
    char* instructions;
  } filter = {(unsigned short)(size / 8), program};
  close(file);
  if (size <= 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, kSeccompModeFilter, &filter, 0, 0) != 0) {
    abort();
  }
}
