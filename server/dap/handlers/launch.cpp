// launch: starts a program, and puts our agent into it before its first line.
#include "protocol/events/capabilities.h"
#include "protocol/events/initialized.h"
#include "protocol/events/process.h"
#include "server/coroutines/co_try.h"
#include "server/dap/handlers.h"
#include "server/dap/launched_program.h"
#include "server/dap/shown_stop.h"

namespace hangdbg {
namespace {

constexpr auto kEnding = std::chrono::milliseconds(200);
constexpr auto kLaunchBetweenTries = std::chrono::milliseconds(2);

bool wants_terminal(const dap::Launch::Arguments& wanted) {
  return wanted.console == "integratedTerminal" ||
         wanted.console == "externalTerminal";
}

bool has_terminal(const DebugSession& session) {
  return session.editor().supports_run_in_terminal_request.value_or(false);
}

boost::asio::awaitable<Status> enter(DebugSession& session,
                                     dap::DebugOptions options) {
  const Deadline deadline = session.deadline();
  CO_CHECK(co_await session.program()->wait_until_ready(deadline));
  const int pid = session.program()->pid();
  auto made =
      co_await session.on_pool([&] { return inject_agent(pid, deadline); });
  if (!made) {
    if (co_await session.program()->end(Deadline::in(kEnding))) {
      co_return fail(ErrorId::TargetDied,
                     "the program has ended before its first line");
    }
    co_return std::unexpected(made.error());
  }
  auto translation =
      session.translation_for(pid, std::move(options.path_mappings));
  session.set_options(std::move(options));
  session.attach(*std::move(made), {}, "", std::move(translation));
  while (true) {  // it is about to wait
    CO_TRY(const auto hello, co_await session.agent().hello(deadline));
    if (hello.waits) {
      co_return Status();
    }
    if (deadline.expired() || !co_await session.nap(kLaunchBetweenTries)) {
      co_return fail(ErrorId::TimedOut, "the program does not wait for us");
    }
  }
}

}  // namespace

Answer<dap::Launch> LaunchHandler::handle(DebugSession& session,
                                          Pair::Arguments arguments) {
  CO_CHECK(session.check_new());
  if (!session.admits(arguments.token)) {
    co_return session.refuse_token();
  }
  Result<std::unique_ptr<LaunchedProgram>> started;
  if (wants_terminal(arguments) && has_terminal(session)) {
    started = co_await LaunchedProgram::start_in_terminal(session, session.io(),
                                                          arguments);
  } else {
    started = LaunchedProgram::start(session, session.io(), arguments);
  }
  if (!started) {
    co_return std::unexpected(started.error());
  }
  session.own(*std::move(started));
  if (arguments.no_debug.value_or(false)) {
    session.run_without_stops();
  }
  const Status entered = co_await enter(session, std::move(arguments.options));
  if (!entered) {
    if (session.phase() != DebugSession::Phase::Attached) {
      co_await session.program()->close(nullptr);
      session.own(nullptr);
    }
    co_return std::unexpected(entered.error());
  }
  co_return dap::Nothing();
}

boost::asio::awaitable<void> LaunchHandler::after(DebugSession& session,
                                                  Pair::Arguments arguments) {
  dap::Process::Body process;
  process.name =
      arguments.program ? *arguments.program : arguments.module.value_or("");
  process.system_process_id = session.agent().target().pid;
  process.is_local_process = true;
  process.start_method = "launch";
  co_await session.say<dap::Process>(std::move(process));
  // Not of a process that was there before: its editor is to disconnect.
  dap::CapabilitiesEvent::Body changed;
  changed.capabilities.supports_terminate_request = true;
  changed.capabilities.support_terminate_debuggee = true;
  co_await session.say<dap::CapabilitiesEvent>(std::move(changed));
  if (wants_terminal(arguments) && !has_terminal(session)) {
    co_await session.note(
        "the editor has no terminal for it: what it prints is here");
  }
  if (arguments.options.sub_process.value_or(false) &&
      session.editor().supports_start_debugging_request.value_or(false)) {
    dap::Attach::Arguments parent;
    parent.token = arguments.token;
    parent.options = std::move(arguments.options);
    co_await session.follow_sub_processes(std::move(parent));
  }
  co_await session.say<dap::Initialized>({});
  if (session.configured()) {
    co_await show_hung_thread(session);
  }
}

}  // namespace hangdbg
