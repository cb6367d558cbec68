#include "server/dap/launched_program.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "protocol/events/output.h"
#include "server/dap/debug_session.h"
#include "server/exec_words.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace {

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
constexpr auto kPatience = std::chrono::seconds(60);  // its, with us
constexpr auto kToEnd = std::chrono::seconds(2);
constexpr auto kLastWords = std::chrono::milliseconds(500);
constexpr std::size_t kMostAtOnce = 1 << 16;

struct Pipe {
  Fd ours;
  Fd its;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return fail_errno("no pipe can be had", ErrorId::System);
  }
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

// Ours, with what is wanted otherwise.
std::vector<std::string> environment(const dap::Launch::Arguments& wanted) {
  const auto changes = wanted.env.value_or(decltype(wanted.env)::value_type());
  auto all = variables_for_child();
  std::erase_if(all, [&](const std::string& variable) {
    return changes.contains(variable.substr(0, variable.find('=')));
  });
  for (const auto& [name, value] : changes) {
    if (value) {
      all.push_back(name + "=" + *value);
    }
  }
  return all;
}

// The server's sockets, and what it talks to an editor on, are not for it.
void keep_from_child() {
  if (::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC) != 0) {
    const int most = ::getdtablesize();  // before Linux 5.11
    for (int fd = STDERR_FILENO + 1; fd < most; ++fd) {
      ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
  }
}

// Between fork and exec, where nothing may be allocated.
bool become(const dap::Launch::Arguments& wanted, int out, int err) {
  std::signal(SIGPIPE, SIG_DFL);
  ::setsid();
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  keep_from_child();
  return ::dup2(nothing, STDIN_FILENO) >= 0 &&
         ::dup2(out, STDOUT_FILENO) >= 0 && ::dup2(err, STDERR_FILENO) >= 0 &&
         (!wanted.cwd || ::chdir(wanted.cwd->c_str()) == 0);
}

// How many bytes at the end begin a character that is not whole yet.
std::size_t unfinished(std::string_view text) {
  for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte >= 0xC0) {
      const std::size_t size = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
      return size > back ? back : 0;
    }
    if (byte < 0x80) {
      break;
    }
  }
  return 0;
}

}  // namespace

Result<std::unique_ptr<LaunchedProgram>> LaunchedProgram::start(
    DebugSession& session,
    asio::io_context& io,
    const dap::Launch::Arguments& wanted) {
  if (wanted.program.has_value() == wanted.module.has_value()) {
    return fail(ErrorId::Usage, "launch wants a program or a module",
                "\"program\": \"/home/ada/train.py\"");
  }
  Pipe out = TRY(make_pipe());
  Pipe err = TRY(make_pipe());
  Pipe ready = TRY(make_pipe());
  Program::Start how;
  how.python = wanted.python.value_or("python3");
  how.python_options = wanted.python_args.value_or(std::vector<std::string>());
  how.module = wanted.module.has_value();
  how.words = wanted.args.value_or(std::vector<std::string>());
  how.words.insert(how.words.begin(),
                   how.module ? *wanted.module : *wanted.program);
  how.environment = environment(wanted);
  how.calls_us = true;
  how.call = 0;
  how.entry = true;
  how.ready = ready.its.get();
  how.patience = kPatience;
  auto program = TRY(Program::start(how, [&] {
    return become(wanted, out.its.get(), err.its.get()) &&
           ::fcntl(ready.its.get(), F_SETFD, 0) == 0;
  }));
  std::unique_ptr<LaunchedProgram> launched(
      new LaunchedProgram(session, io, std::move(program),
                          wanted.options.stop_on_entry.value_or(false)));
  launched->out_.assign(out.ours.release());
  launched->err_.assign(err.ours.release());
  launched->ready_.assign(ready.ours.release());
  launched->output_.spawn(launched->pass_on(launched->out_, "stdout"));
  launched->output_.spawn(launched->pass_on(launched->err_, "stderr"));
  return launched;
}

LaunchedProgram::LaunchedProgram(DebugSession& session,
                                 asio::io_context& io,
                                 Program program,
                                 bool stops_on_entry)
    : session_(session),
      io_(io),
      program_(std::move(program)),
      ended_(io, ::dup(program_.pidfd())),
      ready_(io),
      out_(io),
      err_(io),
      output_(io.get_executor()),
      all_said_(io),
      stops_on_entry_(stops_on_entry) {}

// Its end closes what it would close, too.
asio::awaitable<Status> LaunchedProgram::wait_until_ready(Deadline deadline) {
  co_await wait_readable(ready_, deadline);
  if (deadline.expired()) {
    co_return fail(ErrorId::TimedOut, "Python has not come to the program");
  }
  co_return Status();
}

asio::awaitable<std::optional<int>> LaunchedProgram::end(Deadline deadline) {
  if (!program_.ended()) {
    co_await wait_readable(ended_, deadline);
  }
  // What it has started may go on, and print.
  const Deadline patience = deadline.capped(kLastWords);
  while (program_.ended() && output_.running() > 0 && !patience.expired()) {
    all_said_.expires_at(patience.at());
    co_await all_said_.async_wait(as_result);
  }
  co_return program_.ended();
}

void LaunchedProgram::terminate() {
  if (!program_.ended()) {
    ::kill(program_.pid(), SIGTERM);
  }
}

asio::awaitable<void> LaunchedProgram::close() {
  if (ours_to_end_) {
    terminate();
    const auto ended = co_await end(Deadline::in(kToEnd));
    if (!ended) {
      ::kill(program_.pid(), SIGKILL);
      co_await end(Deadline::in(kToEnd));
    }
  }
  out_.close();
  err_.close();
  co_await output_.join();
}

asio::awaitable<void> LaunchedProgram::pass_on(Stream& from,
                                               std::string category) {
  std::string left;
  std::vector<char> bytes(kMostAtOnce);
  for (bool over = false; !over;) {
    const auto [error, count] =
        co_await from.async_read_some(asio::buffer(bytes), as_result);
    over = static_cast<bool>(error);
    left.append(bytes.data(), count);
    const std::size_t whole = left.size() - (over ? 0 : unfinished(left));
    if (whole > 0) {
      dap::Output::Body body;
      body.category = category;
      body.output = to_utf8(std::string_view(left).substr(0, whole));
      left.erase(0, whole);
      co_await session_.say<dap::Output>(std::move(body));
    }
  }
  all_said_.cancel();
}

asio::awaitable<void> LaunchedProgram::wait_readable(Stream& stream,
                                                     Deadline deadline) {
  asio::steady_timer end(io_, deadline.at());
  end.async_wait([&](boost::system::error_code error) {
    if (!error) {
      stream.cancel();
    }
  });
  co_await stream.async_wait(Stream::wait_read, as_result);
  end.cancel();
  // The timer's last call refers to what is here.
  co_await asio::post(io_, asio::use_awaitable);
}

}  // namespace hangdbg
