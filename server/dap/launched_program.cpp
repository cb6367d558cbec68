#include "server/dap/launched_program.h"
#include "server/coroutines/as_result.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "protocol/events/output.h"
#include "protocol/requests/run_in_terminal.h"
#include "server/coroutines/co_try.h"
#include "server/dap/debug_session.h"
#include "server/session/exec_words.h"
#include "tracee/proc/proc_file.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace {

using asio::experimental::awaitable_operators::operator||;

constexpr auto kLaunchedProgramPatience =
    std::chrono::seconds(60);  // its, with us
// A process that it forks, until the editor has set its breakpoints there.
constexpr auto kForkPatience = std::chrono::seconds(10);
constexpr auto kLaunchedProgramToEnd = std::chrono::seconds(2);
constexpr auto kLastWords = std::chrono::milliseconds(500);
constexpr std::size_t kMostAtOnce = 1 << 16;

// A shell may have much to do before it starts something.
constexpr auto kTerminal = std::chrono::seconds(20);

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

Result<Program::Start> how_to_start(const dap::Launch::Arguments& wanted,
                                    bool holds_forks) {
  if (wanted.program.has_value() == wanted.module.has_value()) {
    return fail(ErrorId::Usage, "launch wants a program or a module",
                "\"program\": \"/home/ada/train.py\"");
  }
  if (wanted.cwd && ::access(wanted.cwd->c_str(), X_OK) != 0) {
    return fail_errno("cannot go to " + printable(*wanted.cwd), ErrorId::Usage);
  }
  Program::Start how;
  how.python = wanted.python.value_or("python3");
  how.python_options = wanted.python_args.value_or(std::vector<std::string>());
  how.module = wanted.module.has_value();
  how.words = wanted.args.value_or(std::vector<std::string>());
  how.words.insert(how.words.begin(),
                   how.module ? *wanted.module : *wanted.program);
  how.calls_us = true;
  how.call = 0;
  how.entry = true;
  how.patience = kLaunchedProgramPatience;
  if (holds_forks) {
    how.hold_forks = kForkPatience;
  }
  return how;
}

bool holds_forks(const DebugSession& session,
                 const dap::Launch::Arguments& wanted) {
  return wanted.options.sub_process.value_or(false) &&
         !wanted.no_debug.value_or(false) &&
         session.editor().supports_start_debugging_request.value_or(false);
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

// By what an editor's terminal has started; nothing: it does not start it, or
// the editor leaves.
asio::awaitable<std::optional<int>> number_told(
    DebugSession& session,
    DetachedChildren::Stream& from) {
  asio::steady_timer patience(session.io(), kTerminal);
  co_await (from.async_wait(DetachedChildren::Stream::wait_read, as_result) ||
            session.nap(patience));
  std::array<char, 32> line{};
  pollfd there{from.native_handle(), POLLIN, 0};
  const ssize_t size =
      ::poll(&there, 1, 0) == 1
          ? ::read(from.native_handle(), line.data(), line.size())
          : 0;
  co_return parse_number<int>(trim(
      {line.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))}));
}

}  // namespace

Result<std::unique_ptr<LaunchedProgram>> LaunchedProgram::start(
    DebugSession& session,
    asio::io_context& io,
    const dap::Launch::Arguments& wanted) {
  Program::Start how = TRY(how_to_start(wanted, holds_forks(session, wanted)));
  Pipe out = TRY(make_pipe());
  Pipe err = TRY(make_pipe());
  Pipe ready = TRY(make_pipe());
  how.environment = environment(wanted);
  how.ready = ready.its.get();
  auto started = Program::start(how, [&] {
    return become(wanted, out.its.get(), err.its.get()) &&
           ::fcntl(ready.its.get(), F_SETFD, 0) == 0;
  });
  if (!started) {
    started.error().hint = "\"python\": \"/usr/bin/python3\"";
    return std::unexpected(started.error());
  }
  Program program = *std::move(started);
  Fd ended(::dup(program.pidfd()));
  if (!ended) {
    auto failure = fail_errno("its end could not be waited for");
    program.send(SIGKILL);
    ::waitpid(program.pid(), nullptr, 0);
    return failure;
  }
  std::unique_ptr<LaunchedProgram> launched(new LaunchedProgram(
      session, io, std::move(program), std::move(ended), std::move(ready.ours),
      wanted.options.stop_on_entry.value_or(false)));
  launched->leads_group_ = true;
  launched->out_.assign(out.ours.release());
  launched->err_.assign(err.ours.release());
  launched->output_.spawn(launched->pass_on(launched->out_, "stdout"));
  launched->output_.spawn(launched->pass_on(launched->err_, "stderr"));
  return launched;
}

// Its text and the way back are files of ours, below /proc: with us they are
// gone, and nothing starts, or waits.
asio::awaitable<Result<std::unique_ptr<LaunchedProgram>>>
LaunchedProgram::start_in_terminal(DebugSession& session,
                                   asio::io_context& io,
                                   dap::Launch::Arguments wanted) {
  const auto path_of = [](const Fd& file) {
    return fmt::format("/proc/{}/fd/{}", ::getpid(), file.get());
  };
  CO_TRY(Program::Start how,
         how_to_start(wanted, holds_forks(session, wanted)));
  CO_TRY(Pipe ready, make_pipe());
  how.tell = path_of(ready.its);
  CO_TRY(const Fd text, Program::text(how));
  dap::RunInTerminal::Arguments question;
  question.kind =
      wanted.console == "externalTerminal" ? "external" : "integrated";
  question.title = how.words.front();
  question.cwd =
      wanted.cwd.value_or(read_proc_link(::getpid(), "cwd").value_or("/"));
  question.args = Program::words(how, path_of(text));
  question.env = std::move(wanted.env);
  CO_CHECK(co_await session.ask<dap::RunInTerminal>(std::move(question)));

  Stream told(io, ready.ours.release());
  const auto pid = co_await number_told(session, told);
  if (!pid) {
    co_return fail(ErrorId::TimedOut,
                   "the editor's terminal has not started the program");
  }
  CO_TRY(auto program, Program::of_another(*pid));
  Fd ended(::dup(program.pidfd()));
  if (!ended) {
    co_return fail_errno("its end could not be waited for");
  }
  co_return std::unique_ptr<LaunchedProgram>(new LaunchedProgram(
      session, io, std::move(program), std::move(ended), Fd(told.release()),
      wanted.options.stop_on_entry.value_or(false)));
}

LaunchedProgram::LaunchedProgram(DebugSession& session,
                                 asio::io_context& io,
                                 Program program,
                                 Fd ended,
                                 Fd ready,
                                 bool stops_on_entry)
    : session_(session),
      io_(io),
      pid_(program.pid()),
      program_(std::move(program)),
      ended_(io, ended.release()),
      ready_(io, ready.release()),
      out_(io),
      err_(io),
      output_(io.get_executor()),
      all_said_(io),
      stops_on_entry_(stops_on_entry) {}

// Its end closes what it would close, too.
asio::awaitable<Status> LaunchedProgram::wait_until_ready(Deadline deadline) {
  asio::steady_timer end(io_, deadline.at());
  co_await (ready_.async_wait(Stream::wait_read, as_result) ||
            session_.nap(end));
  if (deadline.expired() || session_.leaving()) {
    co_return fail(ErrorId::TimedOut, "Python has not come to the program");
  }
  // It is another than the one that we have started, if that is a script that
  // starts Python.
  std::array<char, 32> line{};
  const ssize_t size = ::read(ready_.native_handle(), line.data(), line.size());
  const auto pid = parse_number<int>(trim(
      {line.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))}));
  if (pid && program_ && ::getsid(*pid) == program_->pid()) {
    pid_ = *pid;
  }
  co_return Status();
}

asio::awaitable<std::optional<int>> LaunchedProgram::end(Deadline deadline) {
  if (!code()) {
    co_await wait_readable(ended_, deadline);
  }
  // What it has started may keep running, and print.
  const Deadline patience = deadline.capped(kLastWords);
  while (code() && output_.running() > 0 && !patience.expired()) {
    all_said_.expires_at(patience.at());
    co_await all_said_.async_wait(as_result);
  }
  co_return code();
}

std::optional<int> LaunchedProgram::code() {
  return program_ ? program_->ended() : std::nullopt;
}

// To all that it has started, too; what runs in a terminal has a group that may
// have others in it.
void LaunchedProgram::send(int signal) {
  if (program_ && leads_group_ && !program_->ended()) {
    ::kill(-program_->pid(), signal);
  } else if (program_) {
    program_->send(signal);
  }
}

asio::awaitable<void> LaunchedProgram::close(DetachedChildren* left) {
  if (ours_to_end_) {
    terminate();
    const auto ended = co_await end(Deadline::in(kLaunchedProgramToEnd));
    if (!ended) {
      send(SIGKILL);
      co_await end(Deadline::in(kLaunchedProgramToEnd));
    }
  }
  closing_ = true;
  boost::system::error_code ignored;
  out_.cancel(ignored);
  err_.cancel(ignored);
  co_await output_.join();
  if (!ours_to_end_ && left != nullptr && program_) {
    left->take(*std::exchange(program_, std::nullopt), std::move(ended_),
               std::move(out_), std::move(err_));
  }
}

asio::awaitable<void> LaunchedProgram::pass_on(Stream& from,
                                               std::string category) {
  std::string left;
  std::vector<char> bytes(kMostAtOnce);
  for (bool over = false; !over && !closing_;) {
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
  co_await (stream.async_wait(Stream::wait_read, as_result) ||
            end.async_wait(as_result));
}

}  // namespace hangdbg
