#include "client/prompt/prompt.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/fd.h"
#include "base/log.h"
#include "base/text.h"
#include "client/prompt/aliases.h"
#include "client/prompt/attached_ranks.h"
#include "client/prompt/command.h"
#include "client/prompt/completion.h"
#include "client/prompt/line_editor.h"
#include "client/prompt/stops.h"
#include "client/terminal/interrupt.h"
#include "client/terminal/render.h"
#include "injector/checks/preflight.h"
#include "protocol/requests/held.h"
#include "server/session/hold.h"
#include "server/session/pdb_line.h"

namespace hangdbg {
namespace {

constexpr int kBetweenLooks = 200;  // ms
constexpr auto kHeldPatience = std::chrono::milliseconds(500);

Result<bool> look_again(PromptState& state);
Status run_command(PromptState& state, const TypedCommand& typed);
int run_line(PromptState& state, std::string_view line, bool pasted = false);
TypedCommand typed_command(std::string_view text, bool is_code);
int finish(PromptState& state, const Status& done);
int show_failure(const PromptState& state, const Error& error);
int run_pipe(PromptState& state);
bool await_input(PromptState& state);
int run_terminal(PromptState& state, LineEditor& editor);
bool target_is_lost(const PromptState& state);
bool has_limit(const PromptState& state);
bool is_busy(PromptState& state);
std::string time_left(const PromptState& state);

}  // namespace

int run_commands(PromptState& state, const std::vector<std::string>& commands) {
  int code = 0;
  for (const std::string& command : commands) {
    code = run_line(state, command);
    if (state.leaving || target_is_lost(state) ||
        code == exit_code(ErrorId::Interrupted)) {
      break;
    }
  }
  return code;
}

int run_prompt(PromptState& state) {
  if (::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1) {
    if (const auto editor = LineEditor::open()) {
      return run_terminal(state, *editor);
    }
  }
  return run_pipe(state);
}

void show_place(PromptState& state) {
  const dap::StackFrame& frame = state.place.frame();
  say("{} {}\n", state.out.green(">"), state.out.bold(place_text(frame)));
  const auto path = frame.source ? frame.source->path.value_or("") : "";
  if (const auto line = state.sources.line(path, frame.line)) {
    say("{} {}\n", state.out.green("->"), *line);
  }
  state.list_from.reset();
}

void say_if_read_only(PromptState& state) {
  const bool now = state.session.read_only();
  if (now && !state.said_read_only) {
    const std::string why =
        fmt::format("read-only: {}; stacks and source work, other commands {}",
                    state.session.why_read_only(),
                    state.session.is_outside() ? "do not" : "wait");
    say(stderr, "{}\n", state.err.dim(printable(why)));
  }
  state.said_read_only = now;
}

Status follow(PromptState& state) {
  TRY(look_again(state));
  return {};
}

void run_python_line(PromptState& state, const std::string& text) {
  finish(state, run_command(state, {"", text}));
}

Result<bool> find_frame_again(PromptState& state) {
  state.session.allow_outside(false);
  auto same = look_again(state);
  state.session.allow_outside(true);
  return same;
}

namespace {

Result<bool> look_again(PromptState& state) {
  const bool same = TRY(state.place.refresh(state.session, state.deadline()));
  if (!same) {
    say("{}\n", state.out.dim("the frame has returned; now in"));
    show_place(state);
  }
  return same;
}

// ---- one line

int run_line(PromptState& state, std::string_view line, bool pasted) {
  if (state.reader) {
    auto reader = std::exchange(state.reader, {});
    if (reader(line.substr(0, line.find_last_not_of(" \r\n") + 1))) {
      state.reader = std::move(reader);
    }
    return 0;
  }
  // What is lost here is told by the next command.
  [[maybe_unused]] const Status told = note_stops(state);
  int code = 0;
  const bool is_code =
      pasted || line.starts_with(' ') || line.starts_with('\t');
  state.pending.emplace_back(line);
  while (!state.pending.empty()) {
    const auto commands = split_commands(
        expand_alias(state, std::exchange(state.pending.front(), {})));
    state.pending.pop_front();
    for (const std::string& text : commands) {
      code = finish(state, run_command(state, typed_command(text, is_code)));
      if (state.leaving || target_is_lost(state) ||
          code == exit_code(ErrorId::Interrupted)) {
        state.pending.clear();
        break;
      }
    }
  }
  // It may have come when nothing ran that could end of it.
  if (Interruptible::take() && code == 0) {
    code = show_failure(state,
                        {.id = ErrorId::Interrupted, .message = "interrupted"});
  }
  return code;
}

// Code that is pasted holds no thread: "    return v + factor" is not pdb's
// return.
TypedCommand typed_command(std::string_view text, bool is_code) {
  TypedCommand typed = parse_command(text, word_kind);
  const auto holding = hold_commands();
  const Command* const command = find_command(typed.name);
  const bool holds = std::ranges::any_of(
      holding, [&](const Command& one) { return &one == command; });
  if (holds &&
      (is_code || (command->arguments.empty() && !typed.argument.empty()))) {
    return {"", std::string(trim(text))};
  }
  return typed;
}

// The exit code.
int finish(PromptState& state, const Status& done) {
  flush_output(stdout);
  // Then the failure has said it.
  state.said_read_only |= !done && done.error().id == ErrorId::GilHeld;
  if (const auto tid = state.place.thread().tid;
      !done && state.held.contains(tid)) {
    state.perhaps_busy.insert(tid);
  }
  const int code = done ? 0 : show_failure(state, done.error());
  say_if_read_only(state);
  return code;
}

Status run_command(PromptState& state, const TypedCommand& typed) {
  log::debug(log::Area::Client, "command \"{}\" with \"{}\"", typed.name,
             typed.argument);
  // Python is what the command "!" runs.
  const Command* const command =
      find_command(typed.name.empty() ? "!" : typed.name);
  if (command == nullptr) {
    return fail(ErrorId::Usage, typed.name + ": not supported in this version",
                "!" + typed.name +
                    " is a pdb command without a counterpart here; help lists "
                    "the commands");
  }
  return command->run(state, typed.argument);
}

// As pdb shows one; the rest is for what pdb cannot have.
int show_failure(const PromptState& state, const Error& error) {
  if (error.id == ErrorId::System) {
    return report(error, state.err);
  }
  say(stderr, "{} {}\n", state.err.red("***"), printable(error.text()));
  if (!error.hint.empty()) {
    say(stderr, "    try: {}\n", printable(error.hint));
  }
  return exit_code(error.id);
}

// Nothing more can be asked.
bool target_is_lost(const PromptState& state) {
  return !state.session.alive();
}

// How long threads may stand is looked after while nothing is typed, too.
bool has_limit(const PromptState& state) {
  return state.others != nullptr && state.others->timer() != nullptr;
}

// Whether there is something to read; Ctrl-C came otherwise.
bool await_input(PromptState& state) {
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  while (has_limit(state)) {
    if (const int ready = ::poll(&input, 1, kBetweenLooks); ready != 0) {
      return ready > 0;
    }
    state.others->look();
  }
  return true;  // a read of it waits
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

// " 9:58": then what is held goes on by itself.
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

// ---- where lines come from

int run_pipe(PromptState& state) {
  char* buffer = nullptr;
  std::size_t capacity = 0;
  int code = 0;
  std::setvbuf(stdin, nullptr, _IONBF,
               0);  // what was read cannot be waited for
  while (!state.leaving && !target_is_lost(state)) {
    const auto length =
        await_input(state) ? ::getline(&buffer, &capacity, stdin) : -1;
    if (length < 0) {
      code = Interruptible::take() ? exit_code(ErrorId::Interrupted) : 0;
      break;
    }
    run_line(state, {buffer, static_cast<std::size_t>(length)});
  }
  std::free(buffer);
  return target_is_lost(state) ? exit_code(ErrorId::ChannelClosed) : code;
}

int run_terminal(PromptState& state, LineEditor& editor) {
  const int pid = state.session.target().pid;
  const Fd end(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  editor.watch(end.get());
  editor.set_completer([&](std::string_view before_cursor) {
    return complete(state, before_cursor);
  });
  std::string last;
  Interruptible::take();
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
          return LineEditor::Prompt{
              state.reader
                  ? state.reader_prompt
                  : fmt::format(
                        "(hangdbg {}{}{}{}{}) ", pid,
                        state.rank ? fmt::format(" r{}", *state.rank) : "",
                        held ? " HELD" + time_left(state) : "",
                        busy ? " busy" : "", read_only ? " read-only" : ""),
              held, read_only || busy || has_limit(state)};
        },
        state.out, line);
    if (came == LineEditor::Came::Interrupt) {
      Interruptible::take();
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
      if (std::exchange(state.reader, {})) {
        continue;
      }
      break;
    }
    if (state.reader) {
      run_line(state, line);
      continue;
    }
    if (!trim(line).empty() || editor.was_pasted()) {
      last = line;
    } else if (const Command* const again =
                   find_command(parse_command(last, word_kind).name);
               again != nullptr && again->repeats) {
      line = again->names.front();
    }
    run_line(state, line, editor.was_pasted());
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
