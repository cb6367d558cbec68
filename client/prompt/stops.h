// Threads that stop while the prompt is at another place, and the wait for one.
#pragma once

#include <cstdint>
#include <optional>

#include "client/prompt/prompt.h"

namespace hangdbg {

// Takes in those that have stopped since, without a word.
Status take_stops(PromptState& state);

// Tells of those that have stopped since it was called last, a line each.
Status note_stops(PromptState& state);

// To the first that has stopped and was not seen there, without a word.
Status go_to_stop(PromptState& state);

// Says, once, what becomes of a job while one of its ranks is suspended, if
// nothing was done about it.
void say_others_wait(PromptState& state);

// The user is there, or it resumes.
void forget_stop(PromptState& state, std::int64_t tid);

// Waits until that thread stops, or any that the user has not seen yet, and
// goes there. At a terminal only Ctrl-C ends the wait. Errors: TimedOut,
// Interrupted, NoSuchThread when the thread has ended.
Status await_stop(PromptState& state, std::optional<std::int64_t> tid);

}  // namespace hangdbg
