#include "client/ranks/each_rank.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/fd.h"
#include "base/host_name.h"
#include "base/text.h"
#include "server/exec_words.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostAtOnce = 64;
constexpr auto kSignalAgain = std::chrono::milliseconds(500);
constexpr auto kToSayWhy = std::chrono::seconds(2);  // after its own deadline

struct Child {
  RankOutput* output = nullptr;
  pid_t pid = 0;
  Fd out, err;
  bool done() const { return !out && !err; }
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
[[noreturn]] void become(std::vector<std::string>& words,
                         std::vector<std::string>& variables,
                         int out,
                         int err,
                         const sigset_t& mask);
void read_some(Fd& from, std::string& into);
void wait_for(const std::vector<Child>& children,
              Interrupts& interrupts,
              Deadline deadline);
void reap(Child& child, bool in_time);

}  // namespace

Result<std::vector<RankOutput>> run_for_each(
    const std::vector<JobRank>& ranks,
    const std::function<std::vector<std::string>(const JobRank&)>& words,
    Deadline deadline) {
  std::vector<RankOutput> outputs;
  for (const JobRank& rank : ranks) {
    outputs.push_back({.rank = rank, .out = {}, .err = {}});
  }
  Interrupts interrupts;
  const Deadline last = Deadline::in(deadline.left() + kToSayWhy);
  std::vector<Child> children;
  std::size_t next = 0;
  while (next < outputs.size() || !children.empty()) {
    if (interrupts.came() || last.expired()) {
      for (; next < outputs.size(); ++next) {
        outputs[next].in_time = false;  // and not asked
      }
    }
    while (next < outputs.size() && children.size() < kMostAtOnce) {
      RankOutput& output = outputs[next++];
      auto child = start(output, words(output.rank), interrupts);
      if (!child) {
        for (Child& other : children) {
          reap(other, false);
        }
        return std::unexpected(std::move(child).error());
      }
      children.push_back(*std::move(child));
    }
    wait_for(children, interrupts, last);
    for (Child& child : children) {
      read_some(child.out, child.output->out);
      read_some(child.err, child.output->err);
      if (child.done() || last.expired()) {
        reap(child, child.done());
      }
    }
    std::erase_if(children, [](const Child& child) { return child.pid == 0; });
  }
  return outputs;
}

void show_output(const RankOutput& output, ColourChoice colour) {
  for (const auto& [stream, text] :
       {std::pair(stdout, &output.out), {stderr, &output.err}}) {
    const Palette palette(colour, stream);
    const std::string prefix =
        palette.bold(fmt::format("[{}:{}]", host_name(), output.rank.rank));
    if (!text->empty()) {
      for (const std::string_view line :
           split(std::string_view(*text).substr(
                     0, text->size() - (text->ends_with('\n') ? 1 : 0)),
                 '\n')) {
        print_now(stream, fmt::format("{} {}\n", prefix, line));
      }
    }
  }
  if (!output.in_time) {
    fmt::print(stderr, "[{}:{}] no answer in time\n", host_name(),
               output.rank.rank);
  }
}

int code_of(const std::vector<RankOutput>& outputs, bool absent) {
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
  std::array<int, 2> out{}, err{};
  if (::pipe2(out.data(), O_CLOEXEC) != 0) {
    return fail_errno("cannot make a pipe");
  }
  Child child{.output = &output, .out = Fd(out[0])};
  const Fd out_end(out[1]);
  if (::pipe2(err.data(), O_CLOEXEC) != 0) {
    return fail_errno("cannot make a pipe");
  }
  child.err.reset(err[0]);
  const Fd err_end(err[1]);
  child.pid = ::fork();
  if (child.pid < 0) {
    return fail_errno("cannot start a process");
  }
  if (child.pid == 0) {
    become(words, variables, out_end.get(), err_end.get(), interrupts.before());
  }
  for (const Fd* const fd : {&child.out, &child.err}) {
    ::fcntl(fd->get(), F_SETFL, O_NONBLOCK);
  }
  return child;
}

// In a group of its own: Ctrl-C comes from us, and once.
void become(std::vector<std::string>& words,
            std::vector<std::string>& variables,
            int out,
            int err,
            const sigset_t& mask) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setpgid(0, 0);
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  ::execve("/proc/self/exe", exec_words(words).data(),
           exec_words(variables).data());
  ::_exit(127);
}

// Between two calls a child is deaf to a signal: it is sent again.
void wait_for(const std::vector<Child>& children,
              Interrupts& interrupts,
              Deadline deadline) {
  std::vector<pollfd> fds = {{interrupts.fd(), POLLIN, 0}};
  for (const Child& child : children) {
    fds.push_back({child.out.get(), POLLIN, 0});  // those below 0 are left out
    fds.push_back({child.err.get(), POLLIN, 0});
  }
  const Deadline next =
      interrupts.came() ? deadline.capped(kSignalAgain) : deadline;
  ::poll(fds.data(), fds.size(), next.left_ms());
  if (interrupts.came()) {
    for (const Child& child : children) {
      ::kill(child.pid, SIGINT);
    }
  }
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

// Its pipes are closed, or the time is up.
void reap(Child& child, bool in_time) {
  if (!in_time) {
    ::kill(child.pid, SIGKILL);
  }
  int status = 0;
  while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
  }
  child.output->in_time = in_time;
  child.output->code =
      WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  child.pid = 0;
}

}  // namespace
}  // namespace hangdbg
