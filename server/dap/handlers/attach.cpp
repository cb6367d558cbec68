// attach: our agent goes into the process, or into all ranks of a job; nothing
// is stopped.
#include <fmt/core.h>

#include "base/text.h"
#include "inspector/jobs/choice.h"
#include "protocol/events/initialized.h"
#include "protocol/events/process.h"
#include "protocol/requests/join.h"
#include "server/coroutines/co_try.h"
#include "server/dap/access.h"
#include "server/dap/handlers.h"
#include "server/dap/shown_stop.h"
#include "tracee/proc/proc_file.h"

namespace hangdbg {
namespace {

constexpr std::int64_t kLongestHold = 86400;  // s
constexpr auto kInterpreterStarts = std::chrono::seconds(5);
constexpr auto kAttachBetweenTries = std::chrono::milliseconds(20);

Result<int> pid_of(const dap::Attach::Arguments& arguments) {
  if (!arguments.process_id) {
    return fail(ErrorId::Usage, "attach wants a processId",
                "\"processId\": 79655, of a process that `hangdbg ps` shows");
  }
  const auto pid = parse_number<int>(trim(arguments.process_id->text));
  if (!pid || *pid <= 0) {
    return fail(ErrorId::Usage,
                "no process number: " + printable(arguments.process_id->text));
  }
  return *pid;
}

// Ranks of a job, each in a session of its own.
Answer<dap::Attach> open_job(DebugSession& session,
                             dap::Attach::Arguments arguments) {
  if (!session.editor().supports_start_debugging_request.value_or(false)) {
    co_return fail(ErrorId::Usage,
                   "this editor opens no sessions for the ranks of a job",
                   "attach to one of them: \"processId\"");
  }
  if (arguments.hold_for &&
      (*arguments.hold_for < 1 || *arguments.hold_for > kLongestHold)) {
    co_return fail(ErrorId::Usage,
                   "holdFor wants a number of seconds, a day at most",
                   "\"holdFor\": 600");
  }
  const auto text = [](const std::optional<LooseText>& any) {
    return any ? any->text : std::string();
  };
  const JobOptions options{text(arguments.job), text(arguments.ranks)};
  auto chosen = co_await session.on_pool(
      [&] { return choose_ranks(options, session.deadline()); });
  if (!chosen) {
    co_return std::unexpected(chosen.error());
  }
  if (!chosen->absent.empty()) {
    co_return fail(ErrorId::Usage,
                   fmt::format("rank {} of {} is not here",
                               chosen->absent.text(8), job_text(chosen->job)),
                   "hangdbg ps --job " + shell_quote(chosen->job.id));
  }
  auto id = make_token();
  if (!id) {
    co_return std::unexpected(id.error());
  }
  auto job = std::make_unique<JobSession>(session, *std::move(chosen),
                                          std::move(arguments), *std::move(id));
  CO_CHECK(co_await job->attach());
  session.open_job(std::move(job));
  co_return dap::Nothing();
}

// The session of the whole job may have ended meanwhile.
boost::asio::awaitable<Status> join(DebugSession& session,
                                    const std::string& coordinator) {
  AgentSession& agent = session.agent();
  const Deadline deadline = session.deadline();
  CO_CHECK(co_await agent.need("engine", deadline));
  CO_CHECK(co_await agent.need("coordination", deadline));
  dap::Join::Arguments wanted{coordinator};
  const auto joined =
      co_await agent.call<dap::Join>(std::move(wanted), deadline);
  co_return joined ? Status() : std::unexpected(joined.error());
}

}  // namespace

Answer<dap::Attach> AttachHandler::handle(DebugSession& session,
                                          Pair::Arguments arguments) {
  CO_CHECK(session.check_new());
  if (!session.admits(arguments.token)) {
    co_return session.refuse_token();
  }
  if (!arguments.process_id && (arguments.job || arguments.ranks)) {
    co_return co_await open_job(session, std::move(arguments));
  }
  const auto pid = pid_of(arguments);
  if (!pid) {
    co_return std::unexpected(pid.error());
  }
  ThreadSamples before;
  const Deadline started = Deadline::in(kInterpreterStarts);
  const auto enter = [&] {
    before = sample_threads(*pid);
    return inject_agent(*pid, session.deadline());
  };
  auto made = co_await session.on_pool(enter);
  // One that has just been started by another is offered to the editor at once.
  while (!made && made.error().id == ErrorId::NotInitialized &&
         !started.expired()) {
    const bool stays = co_await session.nap(kAttachBetweenTries);
    if (!stays) {
      break;
    }
    made = co_await session.on_pool(enter);
  }
  if (!made) {
    co_return std::unexpected(made.error());
  }
  auto translation =
      session.translation_for(*pid, std::move(arguments.options.path_mappings));
  session.set_options(std::move(arguments.options));
  session.attach(
      *std::move(made), std::move(before),
      arguments.thread ? std::move(arguments.thread->text) : std::string(),
      std::move(translation));
  if (arguments.coordinator) {
    const Status joined = co_await join(session, *arguments.coordinator);
    if (!joined) {
      session.leave();  // nothing would look after it
      co_return std::unexpected(joined.error());
    }
  }
  co_return dap::Nothing();
}

boost::asio::awaitable<void> AttachHandler::after(DebugSession& session,
                                                  Pair::Arguments arguments) {
  if (session.job() != nullptr) {
    co_await session.say<dap::Initialized>({});
    session.follow_job();
    co_return;
  }
  if (arguments.options.sub_process.value_or(false) &&
      session.editor().supports_start_debugging_request.value_or(false)) {
    co_await session.follow_sub_processes(std::move(arguments));
  }
  const int pid = session.agent().target().pid;
  dap::Process::Body process;
  process.name = read_proc_link(pid, "exe").value_or("python");
  process.system_process_id = pid;
  process.is_local_process = true;
  process.start_method = "attach";
  co_await session.say<dap::Process>(std::move(process));
  co_await session.say<dap::Initialized>({});
  if (session.configured()) {
    co_await show_hung_thread(session);
  }
}

}  // namespace hangdbg
