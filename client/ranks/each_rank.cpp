#include "client/ranks/each_rank.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "client/ranks/rank_prefix.h"
#include "client/terminal/typed.h"
#include "server/session/exec_words.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostAtOnce = 64;
constexpr auto kSignalAgain = std::chrono::milliseconds(500);
constexpr auto kToSayWhy = std::chrono::seconds(2);  // after its own deadline
constexpr auto kToDie = std::chrono::seconds(1);     // once it is killed
constexpr auto kLookAtRankAgain =
    std::chrono::milliseconds(10);  // where none tells

struct Child {
  RankOutput* output = nullptr;
  pid_t pid = 0;
  Fd out, err;
  Fd end;  // readable when it has ended; none before Linux 5.3
};

// SIGINT comes as something to read, as long as it lives.
class Interrupts {
 public:
  Interrupts() {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGINT);
    ::pthread_sigmask(SIG_BLOCK, &set, &before_);
    fd_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~Interrupts() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  int fd() const { return fd_.get(); }
  const sigset_t& before() const { return before_; }
  // Whether one has come so far.
  bool came() {
    signalfd_siginfo info{};
    came_ |= ::read(fd_.get(), &info, sizeof(info)) == sizeof(info);
    return came_;
  }

 private:
  sigset_t before_{};
  Fd fd_;
  bool came_ = false;
};

Result<Child> start(RankOutput& output,
                    std::vector<std::string> words,
                    const Interrupts& interrupts);
[[noreturn]] void become(const std::vector<char*>& words,
                         const std::vector<char*>& variables,
                         int out,
                         int err,
                         const sigset_t& mask);
void read_some(Fd& from, std::string& into);
void wait_for(const std::vector<Child>& children,
              Interrupts& interrupts,
              Deadline deadline);
void take_what_came(std::vector<Child>& children);
bool reap(Child& child);
void kill_all(std::vector<Child>& children, ErrorId why);

}  // namespace

Result<std::vector<RankOutput>> run_for_each(
    const std::vector<JobRank>& ranks,
    const std::function<std::vector<std::string>(const JobRank&)>& words,
    Deadline deadline) {
  std::vector<RankOutput> outputs;
  for (const JobRank& rank : ranks) {
    outputs.push_back({.rank = rank, .out = {}, .err = {}});
  }
  std::signal(SIGCHLD, SIG_DFL);  // or there would be nothing to reap
  Interrupts interrupts;
  const Deadline last = Deadline::in(deadline.left() + kToSayWhy);
  std::vector<Child> children;
  std::size_t next = 0;
  const auto give_up = [&interrupts] {
    return interrupts.came() ? ErrorId::Interrupted : ErrorId::TimedOut;
  };
  while (next < outputs.size() || !children.empty()) {
    if (interrupts.came() || last.expired()) {
      for (; next < outputs.size(); ++next) {
        outputs[next].gave_up = give_up();
        outputs[next].code = exit_code(give_up());
      }
    }
    while (next < outputs.size() && children.size() < kMostAtOnce) {
      RankOutput& output = outputs[next++];
      auto child = start(output, words(output.rank), interrupts);
      if (!child) {
        kill_all(children, ErrorId::System);
        return std::unexpected(std::move(child).error());
      }
      children.push_back(*std::move(child));
    }
    if (children.empty()) {
      break;
    }
    wait_for(children, interrupts, last);
    take_what_came(children);
    if (last.expired()) {
      kill_all(children, give_up());
    }
  }
  return outputs;
}

void show_output(const RankOutput& output, ColourChoice colour) {
  for (const auto& [stream, text] :
       {std::pair(stdout, &output.out), {stderr, &output.err}}) {
    print_of_rank(stream, output.rank.rank, Palette(colour, stream), *text);
  }
  if (output.gave_up) {
    print_of_rank(stderr, output.rank.rank, Palette(colour, stderr),
                  no_answer(output));
  }
}

std::string_view no_answer(const RankOutput& output) {
  return output.gave_up == ErrorId::Interrupted ? "interrupted"
                                                : "no answer in time";
}

int code_of(const std::vector<RankOutput>& outputs, bool absent) {
  const int interrupted = exit_code(ErrorId::Interrupted);
  if (std::ranges::count(outputs, interrupted, &RankOutput::code) > 0) {
    return interrupted;
  }
  const int first = outputs.front().code;
  const bool same = std::ranges::all_of(
      outputs, [&](const auto& output) { return output.code == first; });
  return same && (!absent || first != 0) ? first : 1;
}

namespace {

Result<Child> start(RankOutput& output,
                    std::vector<std::string> words,
                    const Interrupts& interrupts) {
  words.insert(words.begin(), "hangdbg");
  auto variables = variables_for_child();
  variables.push_back(typed_for_child());
  // Made here: what a thread of ours that was left behind has locked, stays so
  // in a child.
  const auto argv = exec_words(words);
  const auto envp = exec_words(variables);
  std::array<int, 2> out{}, err{};
  if (::pipe2(out.data(), O_CLOEXEC) != 0) {
    return fail_errno("cannot create a pipe");
  }
  Child child{.output = &output, .out = Fd(out[0])};
  const Fd out_end(out[1]);
  if (::pipe2(err.data(), O_CLOEXEC) != 0) {
    return fail_errno("cannot create a pipe");
  }
  child.err.reset(err[0]);
  const Fd err_end(err[1]);
  const pid_t us = ::getpid();
  child.pid = ::fork();
  if (child.pid < 0) {
    return fail_errno("cannot start a process");
  }
  if (child.pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != us) {
      ::_exit(127);  // we have died before it was set
    }
    become(argv, envp, out_end.get(), err_end.get(), interrupts.before());
  }
  child.end.reset(static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0)));
  for (const Fd* const fd : {&child.out, &child.err}) {
    ::fcntl(fd->get(), F_SETFL, O_NONBLOCK);
  }
  return child;
}

// In a group of its own: Ctrl-C comes from us, and once.
void become(const std::vector<char*>& words,
            const std::vector<char*>& variables,
            int out,
            int err,
            const sigset_t& mask) {
  ::setpgid(0, 0);
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  ::execve("/proc/self/exe", words.data(), variables.data());
  ::_exit(127);
}

// Between two calls a child is deaf to a signal: it is sent again.
void wait_for(const std::vector<Child>& children,
              Interrupts& interrupts,
              Deadline deadline) {
  std::vector<pollfd> fds = {{interrupts.fd(), POLLIN, 0}};
  Deadline next = interrupts.came() ? deadline.capped(kSignalAgain) : deadline;
  for (const Child& child : children) {
    for (const Fd* const fd : {&child.out, &child.err, &child.end}) {
      fds.push_back({fd->get(), POLLIN, 0});  // those below 0 are left out
    }
    if (!child.end && !child.out && !child.err) {
      next = next.capped(kLookAtRankAgain);
    }
  }
  ::poll(fds.data(), fds.size(), next.left_ms());
  if (interrupts.came()) {
    for (const Child& child : children) {
      ::kill(child.pid, SIGINT);
    }
  }
}

// Without those that have ended. (What they have written is in the pipes then.)
void take_what_came(std::vector<Child>& children) {
  std::erase_if(children, [](Child& child) {
    const bool ended = reap(child);
    read_some(child.out, child.output->out);
    read_some(child.err, child.output->err);
    return ended;
  });
}

void read_some(Fd& from, std::string& into) {
  std::array<char, 65536> buffer{};
  while (from) {
    const auto size = ::read(from.get(), buffer.data(), buffer.size());
    if (size > 0) {
      into.append(buffer.data(), static_cast<std::size_t>(size));
    } else if (size < 0 && errno == EINTR) {
      continue;
    } else {
      if (size == 0 || errno != EAGAIN) {
        from.reset();
      }
      return;
    }
  }
}

// Whether it has ended.
bool reap(Child& child) {
  int status = 0;
  if (::waitpid(child.pid, &status, WNOHANG) != child.pid) {
    return false;
  }
  if (!child.output->gave_up) {
    child.output->code =
        WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return true;
}

// One in D state does not die of it: it is left behind.
void kill_all(std::vector<Child>& children, ErrorId why) {
  for (const Child& child : children) {
    child.output->gave_up = why;
    child.output->code = exit_code(why);
    ::kill(child.pid, SIGKILL);
  }
  const Deadline deadline = Deadline::in(kToDie);
  for (Child& child : children) {
    while (!reap(child) && !deadline.expired()) {
      pollfd end{child.end.get(), POLLIN, 0};
      ::poll(
          &end, 1,
          (child.end ? deadline : deadline.capped(kLookAtRankAgain)).left_ms());
    }
  }
  children.clear();
}

}  // namespace
}  // namespace hangdbg
