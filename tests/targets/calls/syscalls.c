// Makes system calls, the same each time, once it is told to: a line on its
// standard input says what. `hangdbg trace` and strace are to say the same of
// it.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(call) check((call), #call)

static long check(long result, const char* what) {
  if (result < 0) {
    perror(what);
    exit(1);
  }
  return result;
}

static void on_signal(int signal) {
  (void)signal;
}

// ---- one of each kind

static void files(void) {
  char bytes[64];
  struct stat info;
  const int fd = CHECK(open("file", O_RDWR | O_CREAT | O_TRUNC, 0640));
  CHECK(write(fd, "hello \"world\"\n\x1b[31m and more than is shown", 43));
  CHECK(pwrite(fd, "J", 1, 0));
  struct iovec parts[2] = {{"first ", 6}, {"second", 6}};
  CHECK(writev(fd, parts, 2));
  CHECK(lseek(fd, 3, SEEK_SET));
  CHECK(read(fd, bytes, 5));
  CHECK(pread(fd, bytes, 8, 1));
  struct iovec into[2] = {{bytes, 4}, {bytes + 4, 60}};
  CHECK(readv(fd, into, 2));
  CHECK(fstat(fd, &info));
  CHECK(stat("file", &info));
  lstat("no such file", &info);
  struct statx more;
  CHECK(statx(AT_FDCWD, "file", 0, STATX_SIZE, &more));
  CHECK(access("file", R_OK | W_OK));
  CHECK(ftruncate(fd, 10));
  CHECK(fsync(fd));
  CHECK(flock(fd, LOCK_EX | LOCK_NB));
  CHECK(fcntl(fd, F_SETFD, FD_CLOEXEC));
  CHECK(fcntl(fd, F_GETFL));
  const int copy = CHECK(fcntl(fd, F_DUPFD_CLOEXEC, 100));
  CHECK(close(copy));
  CHECK(dup2(fd, 77));
  CHECK(dup3(fd, 78, O_CLOEXEC));
  CHECK(close(77));
  CHECK(close(78));
  CHECK(close(dup(fd)));
  CHECK(close(fd));
  read(99, bytes, 1);  // EBADF
  CHECK(mkdir("folder", 0755));
  const int folder = CHECK(openat(AT_FDCWD, "folder", O_RDONLY | O_DIRECTORY));
  CHECK(syscall(SYS_getdents64, folder, bytes, sizeof bytes));
  CHECK(close(folder));
  CHECK(rename("file", "folder/new\n\x1b[31mname"));
  CHECK(symlink("target", "link"));
  CHECK(readlink("link", bytes, sizeof bytes));
  CHECK(unlink("link"));
  CHECK(chdir("folder"));
  CHECK(syscall(SYS_getcwd, (char[4096]){0}, 4096));
  CHECK(unlinkat(AT_FDCWD, "new\n\x1b[31mname", 0));
  CHECK(chdir(".."));
  CHECK(rmdir("folder"));
}

static void memory(void) {
  char* const pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(mprotect(pages, 4096, PROT_READ));
  CHECK(madvise(pages + 4096, 4096, MADV_DONTNEED));
  CHECK(munmap(pages, 8192));
  CHECK(syscall(SYS_brk, 0));
  CHECK(close(CHECK(memfd_create("shared", MFD_CLOEXEC))));
  struct rlimit limit;
  CHECK(prlimit(0, RLIMIT_NOFILE, NULL, &limit));
  CHECK(getrandom((char[8]){0}, 8, GRND_NONBLOCK));
}

static void waits(void) {
  int ends[2];
  char byte;
  CHECK(pipe2(ends, O_CLOEXEC | O_NONBLOCK));
  read(ends[0], &byte, 1);  // EAGAIN
  struct pollfd polled[2] = {{ends[0], POLLIN, 0}, {ends[1], POLLOUT, 0}};
  CHECK(poll(polled, 2, 1000));
  CHECK(write(ends[1], "x", 1));
  const struct timespec soon = {0, 1000000};
  CHECK(ppoll(polled, 1, &soon, NULL));
  fd_set set;
  FD_ZERO(&set);
  FD_SET(ends[0], &set);
  struct timeval second = {1, 0};
  CHECK(syscall(SYS_select, ends[0] + 1, &set, NULL, NULL, &second));
  CHECK(pselect(ends[0] + 1, &set, NULL, NULL, &soon, NULL));
  int count, on = 1;
  CHECK(ioctl(ends[0], FIONREAD, &count));
  CHECK(ioctl(ends[0], FIONBIO, &on));
  CHECK(ioctl(ends[0], FIOCLEX));
  ioctl(ends[0], TCGETS, &(char[64]){0});  // ENOTTY
  const int epoll = CHECK(epoll_create1(EPOLL_CLOEXEC));
  struct epoll_event event = {EPOLLIN | EPOLLET, {.u64 = 0x1234}};
  CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event));
  CHECK(epoll_wait(epoll, &event, 1, 100));
  CHECK(epoll_pwait(epoll, &event, 1, 1, NULL));
  CHECK(close(epoll));
  CHECK(close(ends[0]));
  CHECK(close(ends[1]));
  CHECK(close(CHECK(eventfd(7, EFD_CLOEXEC))));
  const int timer = CHECK(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  const struct itimerspec once = {{0, 0}, {5, 6}};
  CHECK(timerfd_settime(timer, 0, &once, NULL));
  CHECK(close(timer));
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR2);
  CHECK(close(CHECK(signalfd(-1, &signals, SFD_CLOEXEC))));
  CHECK(nanosleep(&soon, NULL));
  CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &soon, NULL));
  CHECK(sched_yield());
  int word = 5;
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 6, NULL);   // EAGAIN
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 5, &soon);  // ETIMEDOUT
  CHECK(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1));
}

static void sockets(void) {
  struct sockaddr_in here = {.sin_family = AF_INET};
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof here;
  const int server = CHECK(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  int one = 1;
  CHECK(setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one));
  CHECK(bind(server, (struct sockaddr*)&here, size));
  CHECK(listen(server, 5));
  CHECK(getsockname(server, (struct sockaddr*)&here, &size));
  const int client = CHECK(socket(AF_INET, SOCK_STREAM, IPPROTO_TCP));
  CHECK(connect(client, (struct sockaddr*)&here, size));
  const int peer =
      CHECK(accept4(server, (struct sockaddr*)&here, &size, SOCK_CLOEXEC));
  CHECK(getpeername(client, (struct sockaddr*)&here, &size));
  CHECK(sendto(client, "to you", 6, MSG_NOSIGNAL, NULL, 0));
  char bytes[32];
  CHECK(recvfrom(peer, bytes, sizeof bytes, 0, NULL, NULL));
  struct iovec part = {"message", 7};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  CHECK(sendmsg(peer, &message, 0));
  part = (struct iovec){bytes, sizeof bytes};
  CHECK(recvmsg(client, &message, 0));
  socklen_t one_size = sizeof one;
  CHECK(getsockopt(client, SOL_SOCKET, SO_ERROR, &one, &one_size));
  CHECK(shutdown(client, SHUT_WR));
  CHECK(close(peer));
  CHECK(close(client));
  CHECK(close(server));
  int pair[2];
  CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
  CHECK(close(pair[0]));
  CHECK(close(pair[1]));
  const int local = CHECK(socket(AF_UNIX, SOCK_STREAM, 0));
  struct sockaddr_un nobody = {AF_UNIX, "nobody here"};
  connect(local, (struct sockaddr*)&nobody, sizeof nobody);  // ENOENT
  CHECK(close(local));
}

static void processes(void) {
  CHECK(syscall(SYS_getpid));
  CHECK(syscall(SYS_gettid));
  CHECK(getppid());
  struct utsname name;
  CHECK(uname(&name));
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  CHECK(sigaction(SIGUSR1, &action, NULL));
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  CHECK(sigprocmask(SIG_BLOCK, &set, NULL));
  CHECK(kill(getpid(), SIGUSR1));
  CHECK(sigprocmask(SIG_UNBLOCK, &set, NULL));
  CHECK(prctl(PR_SET_NAME, "renamed"));
  const pid_t child = CHECK(fork());
  if (child == 0) {
    close(98);
    _exit(3);
  }
  int status;
  CHECK(waitpid(child, &status, 0));
  wait4(-1, &status, WNOHANG, NULL);  // ECHILD
  char* const words[] = {"true", "a word", NULL};
  const pid_t other = CHECK(vfork());
  if (other == 0) {
    execv("/bin/true", words);
    _exit(1);
  }
  siginfo_t info;
  CHECK(waitid(P_PID, other, &info, WEXITED));
}

// ---- many

static void* storm(void* argument) {
  const long count = (long)argument;
  char byte;
  const int zero = open("/dev/zero", O_RDONLY);
  const int null = open("/dev/null", O_WRONLY);
  for (long i = 0; i < count; ++i) {
    syscall(SYS_getppid);
    if (read(zero, &byte, 1) != 1 || write(null, &byte, 1) != 1) {
      exit(1);
    }
  }
  close(zero);
  close(null);
  return NULL;
}

static void storms(int threads, long count) {
  pthread_t all[64];
  for (int i = 0; i < threads; ++i) {
    pthread_create(&all[i], NULL, storm, (void*)count);
  }
  for (int i = 0; i < threads; ++i) {
    pthread_join(all[i], NULL);
  }
}

// Signals that a child sends, each of which is queued and must come: how many
// did, when as many were or none has come for long.
static volatile sig_atomic_t came;

static void on_queued(int signal) {
  (void)signal;
  ++came;
}

static void queued_signals(long count) {
  came = 0;
  signal(SIGRTMIN, on_queued);
  printf("waits\n");
  const pid_t child = CHECK(fork());
  if (child == 0) {
    for (long i = 0; i < count; ++i) {
      while (sigqueue(getppid(), SIGRTMIN, (union sigval){0}) != 0) {
        usleep(1000);  // the queue is full
      }
      usleep(20);
    }
    _exit(0);
  }
  while (waitpid(child, NULL, 0) != child) {
  }
  for (int i = 0; i < 1000 && came < count; ++i) {
    usleep(1000);
  }
  printf("came %ld\n", (long)came);
}

// In epoll_wait until standard input has something: its result, and what errno
// is then.
static void epoll_forever(void) {
  const int epoll = CHECK(epoll_create1(0));
  struct epoll_event event = {EPOLLIN, {.fd = 0}};
  CHECK(epoll_ctl(epoll, EPOLL_CTL_ADD, 0, &event));
  printf("waits\n");
  const int result = epoll_wait(epoll, &event, 1, -1);
  printf("epoll_wait %d %d\n", result, result < 0 ? errno : 0);
}

// A pipe that is full: how much the blocked write writes.
static void write_much(void) {
  printf("waits\n");
  static char much[300000];
  const ssize_t result = write(STDERR_FILENO, much, sizeof much);
  printf("write %zd\n", result);
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  signal(SIGUSR1, on_signal);
  printf("ready %d\n", getpid());
  char line[64];
  while (fgets(line, sizeof line, stdin) != NULL) {
    char what[32] = "";
    int threads = 0;
    long count = 0;
    sscanf(line, "%31s %d %ld", what, &threads, &count);
    if (strcmp(what, "all") == 0) {
      files();
      memory();
      waits();
      sockets();
      processes();
    } else if (strcmp(what, "storm") == 0 && threads == 0) {
      storm((void*)count);
    } else if (strcmp(what, "storm") == 0) {
      storms(threads, count);
    } else if (strcmp(what, "signals") == 0) {
      queued_signals(count);
    } else if (strcmp(what, "epoll") == 0) {
      epoll_forever();
    } else if (strcmp(what, "write") == 0) {
      write_much();
    } else if (strcmp(what, "exit") == 0) {
      return 7;
    }
    printf("done %s\n", what);
  }
  return 7;
}
