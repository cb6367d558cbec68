#include "server/dap/remote_terminal.h"
#include "server/coroutines/as_result.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/write.hpp>
#include <cstdlib>
#include <vector>

#include "base/fd.h"
#include "protocol/base64.h"
#include "server/session/exec_words.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace {

using asio::experimental::awaitable_operators::operator||;

// From hanging up until it is killed: the detach handshake takes less.
constexpr auto kRemoteTerminalLastWords = std::chrono::seconds(2);
constexpr std::size_t kLongestTerm = 64;

// The two ends of what the child has as stdin, stdout and stderr.
struct Ends {
  Fd input, output, errors;
};

Result<Fd> open_terminal() {
  Fd master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!master || ::grantpt(master.get()) != 0 ||
      ::unlockpt(master.get()) != 0) {
    return fail_errno("no pseudo terminal");
  }
  return master;
}

Result<std::pair<Fd, Fd>> open_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return fail_errno("no pipe");
  }
  return std::pair(Fd(ends[0]), Fd(ends[1]));
}

// What posix_spawn does in the child: nothing of ours is left open there, and a
// terminal that a session's leader opens becomes the session's.
class Child {
 public:
  Child() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    sigset_t none;
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setflags(
        &attributes_,
        static_cast<short>(POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK));
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  void open_terminal(const std::string& path) {
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, path.c_str(),
                                       O_RDWR, 0);
    ::posix_spawn_file_actions_adddup2(&actions_, STDIN_FILENO, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, STDIN_FILENO, STDERR_FILENO);
  }
  void take(const Fd& fd, int as) {
    ::posix_spawn_file_actions_adddup2(&actions_, fd.get(), as);
  }

  Result<int> start(std::vector<std::string> words,
                    std::vector<std::string> variables) {
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    int pid = -1;
    errno =
        ::posix_spawn(&pid, "/proc/self/exe", &actions_, &attributes_,
                      exec_words(words).data(), exec_words(variables).data());
    if (errno != 0) {
      return fail_errno("hangdbg cannot be started here");
    }
    return pid;
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

// Ours, but for what is the person's terminal.
std::vector<std::string> client_environment(
    const dap::Terminal::Arguments& wanted) {
  auto variables = variables_for_child();
  std::erase_if(variables, [](const std::string& variable) {
    // No program of the server's user runs for a user of another machine.
    return variable.starts_with("TERM=") || variable.starts_with("PAGER=");
  });
  if (wanted.screen) {
    variables.push_back("TERM=" +
                        wanted.term.value_or("dumb").substr(0, kLongestTerm));
  }
  return variables;
}

void set_size(int terminal, const dap::Screen& screen) {
  const auto bounded = [](std::int64_t count) {
    return static_cast<unsigned short>(
        std::clamp<std::int64_t>(count, 1, 9999));
  };
  const winsize size{bounded(screen.rows), bounded(screen.columns), 0, 0};
  ::ioctl(terminal, TIOCSWINSZ, &size);
}

}  // namespace

Result<std::unique_ptr<RemoteTerminal>> RemoteTerminal::start(
    asio::io_context& io,
    const dap::Terminal::Arguments& wanted) {
  Child child;
  Ends ours;
  Ends theirs;
  if (wanted.screen) {
    ours.input = TRY(open_terminal());
    ours.output = Fd(::fcntl(ours.input.get(), F_DUPFD_CLOEXEC, 0));
    set_size(ours.input.get(), *wanted.screen);
    std::array<char, 128> path{};
    if (::ptsname_r(ours.input.get(), path.data(), path.size()) != 0) {
      return fail_errno("no pseudo terminal");
    }
    child.open_terminal(path.data());
  } else {
    std::tie(theirs.input, ours.input) = TRY(open_pipe());
    std::tie(ours.output, theirs.output) = TRY(open_pipe());
    std::tie(ours.errors, theirs.errors) = TRY(open_pipe());
    child.take(theirs.input, STDIN_FILENO);
    child.take(theirs.output, STDOUT_FILENO);
    child.take(theirs.errors, STDERR_FILENO);
  }
  std::vector<std::string> words{"hangdbg", "attach"};
  words.insert(words.end(), wanted.arguments.begin(), wanted.arguments.end());
  const int pid =
      TRY(child.start(std::move(words), client_environment(wanted)));
  Fd end(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!end) {
    auto failure = fail_errno("hangdbg's end could not be waited for");
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return failure;
  }
  std::unique_ptr<RemoteTerminal> made(new RemoteTerminal(io, pid));
  made->end_.assign(end.release());
  made->input_.assign(ours.input.release());
  made->output_.assign(ours.output.release());
  if (ours.errors) {
    made->errors_.assign(ours.errors.release());
  }
  return made;
}

RemoteTerminal::RemoteTerminal(asio::io_context& io, int pid)
    : pid_(pid),
      end_(io),
      input_(io),
      output_(io),
      errors_(io),
      passing_(io.get_executor()) {}

RemoteTerminal::~RemoteTerminal() = default;

asio::awaitable<int> RemoteTerminal::pass_output(Say say) {
  passing_.spawn(pass(output_, std::nullopt, say));
  if (errors_.is_open()) {
    passing_.spawn(pass(errors_, "stderr", say));
  }
  co_await passing_.join();
  close();
  co_return co_await reap();
}

asio::awaitable<void> RemoteTerminal::pass(Stream& from,
                                           std::optional<std::string> category,
                                           const Say& say) {
  std::array<char, 16384> chunk;
  for (;;) {
    // A terminal's end is EIO.
    const auto [error, size] =
        co_await from.async_read_some(asio::buffer(chunk), as_result);
    if (error) {
      co_return;
    }
    dap::TerminalOutput::Body body{category, to_base64({chunk.data(), size})};
    co_await say(std::move(body));
  }
}

asio::awaitable<Status> RemoteTerminal::write(std::string bytes) {
  const auto [error, size] =
      co_await asio::async_write(input_, asio::buffer(bytes), as_result);
  if (error) {
    co_return fail(ErrorId::ChannelClosed, "nobody reads that any more");
  }
  co_return Status();
}

void RemoteTerminal::end_input() {
  if (errors_.is_open()) {  // on pipes
    boost::system::error_code ignored;
    input_.close(ignored);
  }
}

void RemoteTerminal::resize(const dap::Screen& screen) {
  if (!errors_.is_open() && output_.is_open()) {
    set_size(output_.native_handle(), screen);
  }
}

// Without a terminal nothing else tells it that the person has gone.
void RemoteTerminal::hang_up() {
  close();
  if (!reaped_) {
    ::kill(pid_, SIGHUP);
  }
}

void RemoteTerminal::close() {
  for (Stream* const stream : {&input_, &output_, &errors_}) {
    boost::system::error_code ignored;
    stream->close(ignored);
  }
}

asio::awaitable<int> RemoteTerminal::reap() {
  const bool ended =
      co_await ends_before(Deadline::in(kRemoteTerminalLastWords));
  if (!ended) {
    ::kill(pid_, SIGKILL);
    co_await ends_before(Deadline::in(kRemoteTerminalLastWords));
  }
  int status = 0;
  reaped_ = ::waitpid(pid_, &status, WNOHANG) == pid_;
  if (!reaped_) {
    co_return 128 + SIGKILL;
  }
  co_return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

asio::awaitable<bool> RemoteTerminal::ends_before(Deadline deadline) {
  asio::steady_timer timer(end_.get_executor(), deadline.at());
  const auto first = co_await (end_.async_wait(Stream::wait_read, as_result) ||
                               timer.async_wait(as_result));
  co_return first.index() == 0;
}

}  // namespace hangdbg
