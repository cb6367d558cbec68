// The prompt in the hung frame: reads commands and runs them.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "client/options/options.h"
#include "client/prompt/breakpoints.h"
#include "client/prompt/display.h"
#include "client/prompt/place.h"
#include "client/terminal/render.h"
#include "server/session/hold.h"
#include "server/session/session.h"
#include "server/session/source_text.h"

namespace hangdbg {

class AttachedRanks;

// What the commands share.
struct PromptState {
  Session& session;
  SourceText& sources;
  const CommonOptions& options;
  const Palette& out;
  const Palette& err;
  Place place;

  // Of `list`: where the next one continues; none after a change of frame.
  std::optional<std::int64_t> list_from{};
  std::set<std::int64_t> held{};      // threads, by tid
  std::set<std::int64_t> stepping{};  // those that will stop at a line
  std::set<std::int64_t>
      perhaps_busy{};         // of them, after a question that failed
  std::deque<Stop> unseen{};  // of them, those told of from elsewhere
  std::map<std::int64_t, int> debugging{};  // what `debug` has begun, by tid
  Breakpoints breakpoints{};
  std::vector<Display> displays{};
  std::map<std::string, std::string> aliases{};
  // To be run before the next line is read: a breakpoint's commands.
  std::deque<std::string> pending{};
  // Takes the next lines in place of commands, while it returns true: those of
  // `commands`, Python of `interact`.
  std::function<bool(std::string_view)> reader{};
  std::string reader_prompt{};
  bool reader_takes_python = false;  // whole statements, and not lines
  // We have started it: `c` leaves, so that it has its terminal when it goes
  // on.
  bool runs = false;
  // Of a job: which rank this is, and which one the prompt is to go to.
  std::optional<int> rank{};
  std::optional<int> go_to{};
  AttachedRanks* others = nullptr;  // what else is attached
  bool time_was_up = false;         // threads have resumed by themselves
  // One of several that step at once: what it has begun is awaited later.
  bool together = false;
  std::optional<std::int64_t> awaited{};
  std::set<std::pair<int, std::int64_t>> told{};  // of other ranks: its threads
  std::map<std::int64_t, std::string>
      notes{};  // of threads, by tid: what is to be said before the next line
  bool leaving = false;
  bool has_started = false;  // what the user's own file says has been done
  bool said_read_only = false;
  bool said_others_wait = false;

  Deadline deadline() const { return options.deadline(); }
};

// Asks the agent about the place's frame; `arguments.frame_id` is filled in.
// When the frame has returned, the place is looked up again and that is said;
// the question is asked again only if the same function is there.
template <class Pair>
Result<typename Pair::Body> ask_in_frame(PromptState& state,
                                         typename Pair::Arguments arguments);

// The thread may have run since the place was looked at: looks again, and says
// so if the frame is not the same any more.
Status follow(PromptState& state);

// Says, once, that Python cannot be asked, and why.
void say_if_read_only(PromptState& state);

// "> torch/utils/file_baton.py(42)wait()" and "-> while ...".
void show_place(PromptState& state, std::string_view behind = {});

// As if it had been typed behind "!".
void run_python_line(PromptState& state, const std::string& text);

// Runs each; the exit code is that of the last.
int run_commands(PromptState& state, const std::vector<std::string>& commands);

// Reads from the terminal until Ctrl-D, or from a pipe until its end.
int run_prompt(PromptState& state);

// ---- only templates follow

// Whether the same function is still there, after a NoSuchFrame. Of the agent,
// which will be asked about that frame.
Result<bool> find_frame_again(PromptState& state);

template <class Pair>
Result<typename Pair::Body> ask_in_frame(PromptState& state,
                                         typename Pair::Arguments arguments) {
  for (int tries = 3;; --tries) {
    arguments.frame_id = state.place.frame().id;
    auto body = state.session.call<Pair>(arguments, state.deadline());
    if (body || body.error().id != ErrorId::NoSuchFrame || tries == 0 ||
        !TRY(find_frame_again(state))) {
      return body;
    }
  }
}

}  // namespace hangdbg
