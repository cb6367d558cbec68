// The rules of the diagnosis about sleeps, signals and threads that run, and
// what is said where no rule knows; on processes that are made up.
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include "tests/unit/support/made_up_cases.h"

namespace hangdbg {
namespace {

ThreadSnapshot& in_call(MadeUpWorld& world,
                        long call,
                        std::vector<std::uint64_t> args = {}) {
  return world.python(kOne).sleeps_in(call, std::move(args), own_frames());
}

ThreadSnapshot& in_futex_for(MadeUpWorld& world, std::int64_t seconds) {
  static timespec until;
  until = {.tv_sec = seconds, .tv_nsec = 0};  // FUTEX_WAIT: from now
  return in_call(
      world, SYS_futex,
      {0, FUTEX_WAIT_PRIVATE, 0, reinterpret_cast<std::uintptr_t>(&until)});
}

}  // namespace

const std::vector<MadeUpCase>& time_cases() {
  using enum Progress;
  using enum Confidence;
  static const std::vector<MadeUpCase> kCases = {
      {"sleeps", CauseId::Sleeps, Idle, Certain, false,
       "sleeps, for a time that it has chosen",
       [](auto& world) { in_call(world, SYS_clock_nanosleep); }},
      {"sleeps_by_select", CauseId::Sleeps, Idle, Certain, false, "",
       [](auto& world) { in_call(world, SYS_select, {0}); }},
      {"sleeps_by_pselect", CauseId::Sleeps, Idle, Certain, false, "",
       [](auto& world) { in_call(world, SYS_pselect6, {0}); }},
      {"selects", CauseId::Idle, Idle, Likely, false,
       "waits for events on 0 descriptors",
       [](auto& world) { in_call(world, SYS_select, {5}); }},
      {"sleeps_by_poll", CauseId::Idle, Idle, Likely, false, "",
       [](auto& world) {
         in_call(world, SYS_poll, {0, 0, 1000});
       }},
      {"polls", CauseId::Polls, Polling, Possible, false,
       "comes back to train.py:12 in load again and again",
       [](auto& world) {
         ThreadSnapshot& thread = in_call(world, SYS_clock_nanosleep);
         thread.ran = true;
         thread.places = {"train.py:12 in load"};
       }},
      {"sleeps_at_many_places", CauseId::Sleeps, Idle, Certain, false, "",
       [](auto& world) {
         ThreadSnapshot& thread = in_call(world, SYS_clock_nanosleep);
         thread.ran = true;
         thread.places = {"train.py:12 in load", "train.py:13 in load"};
       }},
      {"pauses", CauseId::Idle, Idle, Certain, false, "waits for a signal",
       [](auto& world) { in_call(world, SYS_pause); }},
      {"waits_for_a_signal", CauseId::Idle, Idle, Certain, false,
       "waits for a signal",
       [](auto& world) { in_call(world, SYS_rt_sigtimedwait); }},
      {"suspends_for_a_signal", CauseId::Idle, Idle, Certain, false, "",
       [](auto& world) { in_call(world, SYS_rt_sigsuspend); }},
      {"runs", CauseId::Runs, Running, Likely, false, "runs, cpu 0 %, at",
       [](auto& world) {
         in_call(world, SYS_read).wait = {.state = 'R',
                                          .call = {.running = true}};
       }},
      {"runs_now_and_then", CauseId::Runs, Running, Likely, false, "cpu 40 %",
       [](auto& world) {
         ThreadSnapshot& thread = in_call(world, SYS_semtimedop);
         thread.ran = true;
         thread.cpu_percent = 40;
       }},
      {"no_rule_knows_it", CauseId::Unknown, Unknown, Possible, true,
       "; cause unknown: train.py:12 in load",
       [](auto& world) { in_call(world, SYS_semtimedop); }},
      {"comes_back_by_itself_soon", CauseId::Unknown, Idle, Possible, false, "",
       [](auto& world) { in_futex_for(world, 30); }},
      {"comes_back_by_itself_late", CauseId::Unknown, Unknown, Possible, true,
       "", [](auto& world) { in_futex_for(world, 3600); }},
      {"no_python_with_one_thread", CauseId::Unknown, Unknown, Possible, true,
       "",
       [](auto& world) { world.process(kOne).sleeps_in(SYS_semtimedop, {}); }},
      {"no_python_with_threads", CauseId::Unknown, Idle, Possible, false, "",
       [](auto& world) {
         auto& one = world.process(kOne);
         one.sleeps_in(SYS_semtimedop, {});
         one.sleeps_in(SYS_semtimedop, {});
       }},
  };
  return kCases;
}

INSTANTIATE_MADE_UP(Time, time_cases);

}  // namespace hangdbg
