// attach: our agent goes into the process; nothing is stopped.
#include "base/text.h"
#include "protocol/events/initialized.h"
#include "protocol/events/process.h"
#include "server/co_try.h"
#include "server/dap/handlers.h"
#include "server/dap/shown_stop.h"
#include "tracee/proc_file.h"

namespace hangdbg {
namespace {

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

}  // namespace

Answer<dap::Attach> AttachHandler::handle(DebugSession& session,
                                          Pair::Arguments arguments) {
  CO_CHECK(session.check_new());
  if (!session.admits(arguments.token)) {
    co_return session.refuse_token();
  }
  const auto pid = pid_of(arguments);
  if (!pid) {
    co_return std::unexpected(pid.error());
  }
  ThreadLooks before;
  auto made = co_await session.on_pool([&] {
    before = look_at_threads(*pid);
    return inject_agent(*pid, session.deadline());
  });
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
  co_return dap::Nothing();
}

boost::asio::awaitable<void> AttachHandler::after(DebugSession& session,
                                                  Pair::Arguments arguments) {
  if (arguments.options.sub_process.value_or(false) &&
      session.editor().supports_start_debugging_request.value_or(false)) {
    session.follow_sub_processes(std::move(arguments));
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
