#include "server/dap/console_source.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "protocol/requests/scopes.h"
#include "protocol/requests/stack_trace.h"
#include "server/coroutines/co_try.h"
#include "server/dap/debug_session.h"
#include "server/session/reload.h"
#include "server/session/source_text.h"

namespace hangdbg {
namespace {

constexpr std::int64_t kConsolePage = 11;  // lines, as pdb's

struct ConsoleLines {
  std::int64_t first;
  std::int64_t last;
};

ConsoleAwaitable show_console_lines(DebugSession& session,
                                    TypedInConsole typed,
                                    ConsoleLines range) {
  const int pid = session.agent().target().pid;
  const auto& place = typed.place;
  auto text = co_await session.on_pool([&] {
    SourceText sources(pid);
    const auto& lines = sources.lines(place.path);
    std::string shown;
    const auto last = std::min(range.last, std::ssize(lines));
    for (auto at = std::max(range.first, std::int64_t{1}); at <= last; ++at) {
      shown +=
          fmt::format("{:>3}  {}\t{}\n", at, at == place.line ? "->" : "  ",
                      lines[static_cast<std::size_t>(at - 1)]);
    }
    return shown;
  });
  if (text.empty()) {
    co_return fail(ErrorId::Unreadable,
                   "no such lines can be read of " + place.path);
  }
  co_return ConsoleAnswer(std::move(text));
}

}  // namespace

ConsoleAwaitable where_in_console(DebugSession& session, TypedInConsole typed) {
  dap::StackTrace::Arguments question;
  question.thread_id = typed.place.thread;
  CO_TRY(const auto stack,
         co_await session.agent().stack(question, session.deadline()));
  const int pid = session.agent().target().pid;
  auto text = co_await session.on_pool([&] {
    SourceText sources(pid);
    std::string lines;
    for (auto at = stack.stack_frames.rbegin(); at != stack.stack_frames.rend();
         ++at) {
      const auto path = at->source ? at->source->path.value_or("?") : "?";
      const bool here = at->id == typed.frame_id();
      lines += fmt::format("{} {}({}){}()\n", here ? '>' : ' ', printable(path),
                           at->line, printable(at->name));
      if (const auto line = sources.line(path, at->line)) {
        lines += "-> " + *line + "\n";
      }
    }
    return lines;
  });
  co_return ConsoleAnswer(std::move(text));
}

ConsoleAwaitable list_in_console(DebugSession& session, TypedInConsole typed) {
  std::vector<std::int64_t> numbers;
  for (const std::string_view word : split(typed.argument, ',')) {
    if (const auto number = parse_number<std::int32_t>(trim(word))) {
      numbers.push_back(*number);
    }
  }
  const auto middle = numbers.empty() ? typed.place.line : numbers.front();
  const auto first = std::max(middle - kConsolePage / 2, std::int64_t{1});
  ConsoleLines range{first, first + kConsolePage - 1};
  if (numbers.size() > 1) {
    const auto end = numbers[1];
    range = {middle, end < middle ? middle + end : end};
  }
  return show_console_lines(session, std::move(typed), range);
}

ConsoleAwaitable list_function_in_console(DebugSession& session,
                                          TypedInConsole typed) {
  dap::Scopes::Arguments question{typed.frame_id()};
  CO_TRY(const auto body, co_await session.agent().call<dap::Scopes>(
                              question, session.deadline()));
  if (body.scopes.empty() || !body.scopes.front().line) {
    co_return fail(ErrorId::Unreadable,
                   "the lines of this function are unknown");
  }
  const dap::Scope& locals = body.scopes.front();
  const ConsoleLines range{*locals.line,
                           locals.end_line.value_or(*locals.line)};
  co_return co_await show_console_lines(session, std::move(typed), range);
}

ConsoleAwaitable reload_in_console(DebugSession& session,
                                   TypedInConsole typed) {
  CO_TRY(const auto done,
         co_await reload_file(
             session.agent(),
             typed.argument.empty() ? typed.place.path : typed.argument,
             session.deadline(), [&session](std::function<Status()> work) {
               return session.on_pool(std::move(work));
             }));
  co_return ConsoleAnswer(reload_text(done));
}

}  // namespace hangdbg
