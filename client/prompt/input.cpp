// Where lines come from: a terminal, or a pipe.
#include <fmt/core.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "client/prompt/attached_ranks.h"
#include "client/prompt/command.h"
#include "client/prompt/completion.h"
#include "client/prompt/line_editor.h"
#include "client/prompt/prompt.h"
#include "client/prompt/run_line.h"
#include "client/prompt/start_file.h"
#include "client/prompt/statement.h"
#include "client/terminal/interrupt.h"
#include "client/terminal/piped_lines.h"
#include "client/terminal/render.h"
#include "injector/checks/preflight.h"
#include "protocol/requests/held.h"
#include "server/session/hold.h"
#include "server/session/pdb_line.h"

namespace hangdbg {
namespace {

constexpr std::string_view kIndentation = " \t";
constexpr auto kHeldPatience = std::chrono::milliseconds(500);

void run_start_file(PromptState& state);
int run_statement(PromptState& state, const std::string& text, bool pasted);
int run_pasted(PromptState& state, const std::string& text);
Statement::Kind kind_of_lines(const PromptState& state);
Statement::Source source_of(const LineEditor& editor,
                            Statement::Kind kind,
                            std::string_view line,
                            std::optional<bool>& at_once_is_code);
std::string prompt_text(PromptState& state, bool held, bool busy);
int run_pipe(PromptState& state);
int run_terminal(PromptState& state, LineEditor& editor);
bool has_limit(const PromptState& state);
bool is_busy(PromptState& state);
std::string time_left(const PromptState& state);

}  // namespace

int run_prompt(PromptState& state) {
  if (::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1) {
    if (!std::exchange(state.has_started, true)) {
      run_start_file(state);
    }
    if (const auto editor = LineEditor::open()) {
      return run_terminal(state, *editor);
    }
  }
  return run_pipe(state);
}

namespace {

void run_start_file(PromptState& state) {
  if (const auto commands = start_commands()) {
    run_commands(state, *commands);
  } else {
    report(commands.error(), state.err);
  }
}

bool has_limit(const PromptState& state) {
  return state.others != nullptr && state.others->timer() != nullptr;
}

// Whether this thread is held, and still inside an expression that was given
// up.
bool is_busy(PromptState& state) {
  const auto tid = state.place.thread().tid;
  const auto number = agents_number(state.session, tid);
  if (!number || !state.perhaps_busy.contains(tid) ||
      !state.held.contains(tid)) {
    return false;
  }
  dap::Held::Arguments question;
  question.thread_id = *number;
  const auto now =
      state.session.call<dap::Held>(question, Deadline::in(kHeldPatience));
  if (now && !now->busy) {
    state.perhaps_busy.erase(tid);
  }
  return !now || now->busy;
}

// " 9:58": then what is held resumes by itself.
std::string time_left(const PromptState& state) {
  const HoldTimer* const timer =
      state.others == nullptr ? nullptr : state.others->timer();
  if (timer == nullptr || !timer->end()) {
    return {};
  }
  const auto left =
      std::chrono::ceil<std::chrono::seconds>(timer->end()->left()).count();
  return fmt::format(" {}:{:02}", left / 60, left % 60);
}

// What was typed or pasted, once it is whole.
int run_statement(PromptState& state, const std::string& text, bool pasted) {
  return pasted && text.contains('\n') && !state.reader
             ? run_pasted(state, without_indentation(text))
             : run_line(state, text, pasted);
}

// One statement, unless it begins with a command: then each line is one.
int run_pasted(PromptState& state, const std::string& text) {
  const std::string_view code = trim(text);
  const auto first = typed_command(code.substr(0, code.find('\n')), true);
  if (first.name.empty()) {
    return code.empty() ? 0 : (run_python_line(state, text), 0);
  }
  Statement statement;
  int rc = 0;
  for (const std::string_view line : split(text, '\n')) {
    if (const auto whole = statement.add(line, Statement::Source::Typed,
                                         kind_of_lines(state))) {
      rc = run_line(state, *whole, true);
    }
    if (state.leaving || target_is_lost(state)) {
      return rc;
    }
  }
  const auto rest = statement.take_rest();
  return rest ? run_line(state, *rest, true) : rc;
}

Statement::Kind kind_of_lines(const PromptState& state) {
  return state.reader && state.reader_takes_python ? Statement::Kind::Python
                                                   : Statement::Kind::Commands;
}

// Not every terminal marks what is pasted. Lines that come at once are pasted
// if the first is Python: who pastes commands, or sends them by a script, wants
// them done.
Statement::Source source_of(const LineEditor& editor,
                            Statement::Kind kind,
                            std::string_view line,
                            std::optional<bool>& at_once_is_code) {
  if (editor.paste_goes_on()) {
    return Statement::Source::PasteGoesOn;
  }
  if (editor.was_pasted()) {
    return Statement::Source::Pasted;
  }
  if (!editor.came_at_once()) {
    at_once_is_code.reset();
    return Statement::Source::Typed;
  }
  if (!at_once_is_code && !trim(line).empty()) {
    at_once_is_code = kind == Statement::Kind::Python ||
                      kIndentation.contains(line.front()) ||
                      typed_command(line, false).name.empty();
  }
  const bool is_code = at_once_is_code.value_or(false);
  if (!editor.more_at_once()) {
    at_once_is_code.reset();
  }
  return !is_code                ? Statement::Source::Typed
         : editor.more_at_once() ? Statement::Source::PasteGoesOn
                                 : Statement::Source::Pasted;
}

int run_pipe(PromptState& state) {
  PipedLines lines;
  int code = 0;
  Statement statement;
  while (!state.leaving && !target_is_lost(state)) {
    std::string line;
    const auto came =
        lines.read(line, has_limit(state) ? [&state] { state.others->look(); }
                                          : std::function<void()>());
    if (came != PipedLines::Came::Line) {
      code = came == PipedLines::Came::Interrupt
                 ? exit_code(ErrorId::Interrupted)
                 : 0;
      break;
    }
    if (state.reader && !state.reader_takes_python) {
      run_line(state, line);
    } else if (const auto whole = statement.add(line, Statement::Source::Typed,
                                                kind_of_lines(state))) {
      run_line(state, *whole);
    }
  }
  if (const auto rest = statement.take_rest(); rest && code == 0) {
    run_line(state, *rest);
  }
  return target_is_lost(state) ? exit_code(ErrorId::ChannelClosed) : code;
}

std::string prompt_text(PromptState& state, bool held, bool busy) {
  if (state.reader) {
    return state.reader_prompt;
  }
  return fmt::format("(hangdbg {}{}{}{}{}) ", state.session.target().pid,
                     state.rank ? fmt::format(" r{}", *state.rank) : "",
                     held ? " HELD" + time_left(state) : "",
                     busy ? " busy" : "",
                     state.session.read_only() ? " read-only" : "");
}

int run_terminal(PromptState& state, LineEditor& editor) {
  const int pid = state.session.target().pid;
  const Fd end(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  editor.watch(end.get());
  editor.set_completer([&](std::string_view before_cursor) {
    return complete(state, before_cursor);
  });
  TypedCommand last;
  Statement statement;
  std::optional<bool> at_once_is_code;
  while (!state.leaving && !target_is_lost(state)) {
    std::string line;
    const auto came = editor.read(
        [&] {
          if (state.others != nullptr) {
            state.others->look();
          }
          const bool read_only = state.session.read_only();
          const bool held = state.held.contains(state.place.thread().tid);
          const bool busy = is_busy(state);
          const std::string text = prompt_text(state, held, busy);
          return LineEditor::Prompt{
              statement.is_begun() ? fmt::format("{:<{}}", "...", text.size())
                                   : text,
              held, read_only || busy || has_limit(state)};
        },
        state.out, line);
    if (came == LineEditor::Came::Interrupt) {
      statement.drop();
      continue;
    }
    if (came == LineEditor::Came::Event) {
      // The process has ended: whatever we ask, the answer says how.
      if (const auto asked = state.session.hello(state.deadline()); !asked) {
        show_failure(state, asked.error());
      }
      editor.watch(-1);
      continue;
    }
    if (came == LineEditor::Came::End) {
      if (statement.is_begun()) {
        statement.drop();
        continue;
      }
      if (std::exchange(state.reader, {})) {
        continue;
      }
      break;
    }
    if (state.reader && !state.reader_takes_python) {
      run_line(state, line);
      continue;
    }
    const auto kind = kind_of_lines(state);
    auto whole = statement.add(
        line, source_of(editor, kind, line, at_once_is_code), kind);
    if (!whole) {
      continue;
    }
    if (state.reader) {
      run_line(state, *whole);
      continue;
    }
    if (!trim(*whole).empty() || statement.is_pasted()) {
      // Code that looks like a command is not repeated as one.
      last = typed_command(*whole, is_code(*whole, statement.is_pasted()));
    } else if (const Command* const again = find_command(last.name);
               again != nullptr && again->repeats) {
      whole = again->names.front();
    }
    run_statement(state, *whole, statement.is_pasted());
  }
  if (target_is_lost(state)) {
    say("{}\n", state.out.dim("the session has ended"));
    return exit_code(ErrorId::ChannelClosed);
  }
  if (!state.runs && !state.go_to) {
    say("{}\n", state.out.dim(fmt::format("detached; {} continues", pid)));
  }
  return 0;
}

}  // namespace
}  // namespace hangdbg
