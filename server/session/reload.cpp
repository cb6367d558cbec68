#include "server/session/reload.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "server/coroutines/co_try.h"
#include "server/session/session_loop.h"
#include "tracee/program/target_text.h"

namespace hangdbg {
namespace asio = boost::asio;
namespace {

constexpr std::size_t kMostNames = 20;

std::string names_in_text(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNames); ++i) {
    text += (i == 0 ? "" : ", ") + printable(names[i]);
  }
  return names.size() > kMostNames
             ? text + fmt::format(" and {} more", names.size() - kMostNames)
             : text;
}

}  // namespace

asio::awaitable<Result<dap::Reload::Body>> reload_file(AgentSession& session,
                                                       std::string path,
                                                       Deadline deadline,
                                                       Elsewhere elsewhere) {
  CO_CHECK(co_await session.need_breakpoints(deadline));
  CO_CHECK(co_await session.need("reloading", deadline));
  dap::Reload::Arguments wanted;
  wanted.path = std::move(path);
  CO_TRY(const auto known,
         co_await session.call<dap::Reload>(wanted, deadline));
  const int pid = session.target().pid;
  CO_CHECK(co_await elsewhere([&]() -> Status {
    wanted.content =
        read_target_text(fmt::format("/proc/{}/root", pid), pid, known.path);
    if (wanted.content->empty()) {
      return fail(ErrorId::Unreadable,
                  printable(known.path) + " is empty, or cannot be read");
    }
    return to_utf8(*wanted.content) == *wanted.content
               ? Status()
               : fail(ErrorId::Unreadable,
                      printable(known.path) + " is not in UTF-8");
  }));
  wanted.path = known.path;
  co_return co_await session.call<dap::Reload>(std::move(wanted), deadline);
}

Result<dap::Reload::Body> reload_file(Session& session,
                                      const std::string& path,
                                      Deadline deadline) {
  SessionLoop& loop = session.loop();
  return loop.run(
      reload_file(loop.agent(), path, deadline,
                  [](std::function<Status()> work) -> asio::awaitable<Status> {
                    co_return work();
                  }));
}

std::string reload_text(const dap::Reload::Body& done) {
  const auto changed = done.changed.value_or(std::vector<std::string>());
  const auto moved = done.moved.value_or(0);
  std::string text = fmt::format(
      "{}: {}{}\n", printable(done.path),
      changed.empty() ? "no function has other code"
                      : "new code in " + names_in_text(changed),
      moved > 0 ? fmt::format(", other lines in {} more", moved) : "");
  for (const auto& one : done.kept.value_or(std::vector<dap::KeptFunction>())) {
    text += fmt::format("{} keeps its code: {}\n", printable(one.name),
                        printable(one.why));
  }
  if (done.missing && !done.missing->empty()) {
    text +=
        fmt::format("not defined by that: {}\n", names_in_text(*done.missing));
  }
  for (const auto& one :
       done.running.value_or(std::vector<dap::FunctionThatRuns>())) {
    text += fmt::format("thread {} is still in the old code of {}\n",
                        one.thread_id, printable(one.name));
  }
  return text;
}

}  // namespace hangdbg
