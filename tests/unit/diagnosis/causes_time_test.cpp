// The rules of the diagnosis about sleeps, signals and threads that run, and
// the cause where no rule applies; on processes that are made up.
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include <tuple>
#include <vector>

#include "diagnosis/diagnose.h"
#include "tests/unit/support/made_up_cases.h"

namespace hangdbg {
namespace {

ThreadSnapshot& in_call(MadeUpSystem& system,
                        long call,
                        std::vector<std::uint64_t> args = {}) {
  return system.python(kOne).sleeps_in(call, std::move(args), own_frames());
}

CallText exists() {
  return {.callee = "exists", .text = "exists(path)", .arguments = {"path"}};
}
CallText draws() {
  return {.callee = "draw", .text = "draw()"};
}
// It sleeps in a loop of its own, by a call of that name.
ThreadSnapshot& in_loop(MadeUpSystem& system,
                        LoopAround loop,
                        const char* callee = "time.sleep") {
  ThreadSnapshot& thread = in_call(system, SYS_clock_nanosleep);
  loop.first_line = 11;
  loop.last_line = 12;
  system.at(kOne).frame_loops["load"] = {.call = {.callee = callee},
                                         .loops = {std::move(loop)}};
  return thread;
}

ThreadSnapshot& in_futex_for(MadeUpSystem& system, std::int64_t seconds) {
  static timespec until;
  until = {.tv_sec = seconds, .tv_nsec = 0};  // FUTEX_WAIT: from now
  return in_call(
      system, SYS_futex,
      {0, FUTEX_WAIT_PRIVATE, 0, reinterpret_cast<std::uintptr_t>(&until)});
}

}  // namespace

const std::vector<MadeUpCase>& time_cases() {
  using enum Progress;
  using enum Confidence;
  static const std::vector<MadeUpCase> kCases = {
      {"sleeps", CauseId::Sleeps, Idle, Certain, false,
       "sleeps for a fixed time",
       [](auto& system) { in_call(system, SYS_clock_nanosleep); }},
      {"sleeps_by_select", CauseId::Sleeps, Idle, Certain, false, "",
       [](auto& system) {
         in_call(system, SYS_select, {0, 0, 0, 0, 1});
       }},
      {"sleeps_by_pselect", CauseId::Sleeps, Idle, Certain, false, "",
       [](auto& system) {
         in_call(system, SYS_pselect6, {0, 0, 0, 0, 1});
       }},
      {"selects_nothing_for_ever", CauseId::Idle, Idle, Certain, false,
       "waits for a signal",
       [](auto& system) { in_call(system, SYS_select, {0}); }},
      {"polls_nothing_for_ever", CauseId::Idle, Idle, Certain, false,
       "waits for a signal",
       [](auto& system) {
         in_call(system, SYS_poll, {0, 0, ~0ULL});
       }},
      {"selects", CauseId::Idle, Idle, Likely, false,
       "waits for events on 0 descriptors",
       [](auto& system) { in_call(system, SYS_select, {5}); }},
      {"sleeps_by_poll", CauseId::Idle, Idle, Likely, false, "",
       [](auto& system) {
         in_call(system, SYS_poll, {0, 0, 1000});
       }},
      {"polls", CauseId::Polls, Polling, Certain, false,
       "polls `exists(path)` at train.py:11-12 in load, and sleeps in between",
       [](auto& system) { in_loop(system, {.conditions = {exists()}}); }},
      {"naps_in_a_task_of_a_worker", CauseId::Sleeps, Idle, Certain, false,
       "sleeps for a fixed time",
       [](auto& system) {
         auto& one = system.python(kOne);
         one.sleeps_in(SYS_clock_nanosleep, {},
                       {own_frames().front(), frame("/lib/pool.py", "worker")});
         one.frame_loops["load"] = {.call = {.callee = "time.sleep"}};
         // (True, func(*args))
         one.frame_loops["worker"] = {
             .loops = {{.first_line = 11,
                        .last_line = 12,
                        .conditions = {{.callee = "get", .text = "get()"}},
                        .sets_arguments = true}}};
       }},
      {"polls_and_shows_progress", CauseId::Polls, Polling, Likely, false,
       "polls `exists(path)`",
       [](auto& system) {
         in_loop(system, {.conditions = {exists()}, .work = {draws()}});
       }},
      {"polls_a_variable", CauseId::Polls, Polling, Certain, false,
       "polls the variable `self.done` at train.py:11-12",
       [](auto& system) { in_loop(system, {.variables = {"self.done"}}); }},
      {"polls_by_what_is_not_known", CauseId::Polls, Polling, Certain, false,
       "polls at train.py:11-12 in load, and sleeps",
       [](auto& system) { in_loop(system, {.conditions = {CallText{}}}); }},
      {"works_now_and_then", CauseId::Sleeps, Idle, Certain, false,
       "sleeps between rounds of the loop at train.py:11-12 in load",
       [](auto& system) { in_loop(system, {.work = {draws()}}); }},
      {"works_until_a_variable_is_set", CauseId::Sleeps, Idle, Certain, false,
       "sleeps between rounds",
       [](auto& system) {
         in_loop(system, {.variables = {"self.done"}, .work = {draws()}});
       }},
      {"works_until_an_event_is_set", CauseId::Sleeps, Idle, Certain, false,
       "sleeps between rounds",
       [](auto& system) {
         in_loop(system, {.conditions = {{.callee = "stop.is_set",
                                          .text = "stop.is_set()"}},
                          .work = {draws()}});
       }},
      {"polls_an_event", CauseId::Polls, Polling, Certain, false,
       "polls `stop.is_set()`",
       [](auto& system) {
         in_loop(system, {.conditions = {{.callee = "stop.is_set",
                                          .text = "stop.is_set()"}}});
       }},
      {"is_given_a_function_that_sleeps", CauseId::Sleeps, Idle, Certain, false,
       "sleeps for a fixed time",
       [](auto& system) {
         in_loop(system, {.conditions = {exists()}, .sets_callee = true},
                 "context.run");
       }},
      {"is_given_what_a_function_calls", CauseId::Sleeps, Idle, Certain, false,
       "sleeps for a fixed time",
       [](auto& system) {
         in_loop(system, {.conditions = {exists()}, .sets_arguments = true},
                 "call");
       }},
      {"polls_by_another_name", CauseId::Polls, Polling, Certain, false,
       "polls `exists(path)`",
       [](auto& system) {
         in_loop(system, {.conditions = {exists()}, .sets_arguments = true},
                 "nap");
         system.at(kOne).reprs[{"load", "nap"}] = "<built-in function sleep>";
       }},
      {"polls_by_what_is_partial", CauseId::Polls, Polling, Certain, false,
       "polls `exists(path)`",
       [](auto& system) {
         in_loop(system, {.conditions = {exists()}}, "nap");
       }},
      {"pauses_in_a_helper_of_a_loop", CauseId::Polls, Polling, Certain, false,
       "polls `exists(path)` at train.py:11-12 in load",
       [](auto& system) {
         auto& thread = in_loop(system, {.conditions = {exists()}});
         thread.stack.frames.insert(thread.stack.frames.begin(),
                                    frame("/home/ada/train.py", "pause"));
         system.at(kOne).frame_loops["pause"].call.callee = "time.sleep";
       }},
      {"sleeps_in_work_of_a_loop", CauseId::Sleeps, Idle, Certain, false,
       "sleeps for a fixed time",
       [](auto& system) {
         auto& thread = in_loop(system, {.conditions = {exists()}});
         thread.stack.frames.insert(thread.stack.frames.begin(),
                                    frame("/home/ada/train.py", "step"));
         system.at(kOne).frame_loops["step"] = {
             .call = {.callee = "time.sleep"}, .other_calls = {draws()}};
       }},
      {"sleeps_where_its_loops_are_not_known", CauseId::Sleeps, Idle, Certain,
       false, "sleeps for a fixed time",
       [](auto& system) {
         ThreadSnapshot& thread = in_call(system, SYS_clock_nanosleep);
         thread.ran = true;
         thread.places = {"train.py:12 in load"};
       }},
      {"pauses", CauseId::Idle, Idle, Certain, false, "waits for a signal",
       [](auto& system) { in_call(system, SYS_pause); }},
      {"waits_for_a_signal", CauseId::Idle, Idle, Certain, false,
       "waits for a signal",
       [](auto& system) { in_call(system, SYS_rt_sigtimedwait); }},
      {"suspends_for_a_signal", CauseId::Idle, Idle, Certain, false, "",
       [](auto& system) { in_call(system, SYS_rt_sigsuspend); }},
      {"runs", CauseId::Runs, Running, Likely, false, "runs, cpu 0 %, at",
       [](auto& system) {
         in_call(system, SYS_read).wait = {.state = 'R',
                                           .call = {.running = true}};
       }},
      {"sleeps_a_little_in_a_loop", CauseId::Polls, Polling, Certain, false,
       "polls `exists(path)`",
       [](auto& system) {
         ThreadSnapshot& thread = in_loop(system, {.conditions = {exists()}});
         system.at(kOne).waits_later[thread.id.tid] = thread.wait;
         thread.wait = {.state = 'R', .call = {.running = true}};
         thread.cpu_percent = 3;
       }},
      {"runs_now_and_then", CauseId::Runs, Running, Likely, false, "cpu 40 %",
       [](auto& system) {
         ThreadSnapshot& thread = in_call(system, SYS_semtimedop);
         thread.ran = true;
         thread.cpu_percent = 40;
       }},
      {"no_rule_knows_it", CauseId::Unknown, Unknown, Possible, true,
       "; cause unknown: train.py:12 in load",
       [](auto& system) { in_call(system, SYS_semtimedop); }},
      {"comes_back_by_itself_soon", CauseId::Unknown, Idle, Possible, false, "",
       [](auto& system) { in_futex_for(system, 30); }},
      {"comes_back_by_itself_late", CauseId::Unknown, Unknown, Possible, true,
       "", [](auto& system) { in_futex_for(system, 3600); }},
      {"no_python_with_one_thread", CauseId::Unknown, Unknown, Possible, true,
       "",
       [](auto& system) {
         system.process(kOne).sleeps_in(SYS_semtimedop, {});
       }},
      {"no_python_with_threads", CauseId::Unknown, Idle, Possible, false, "",
       [](auto& system) {
         auto& one = system.process(kOne);
         one.sleeps_in(SYS_semtimedop, {});
         one.sleeps_in(SYS_semtimedop, {});
       }},
  };
  return kCases;
}

INSTANTIATE_MADE_UP(Time, time_cases);

}  // namespace hangdbg

namespace hangdbg {
namespace {

// The time of such a call is that of one sleep: up to 3.10 time.sleep() selects
// from no descriptors.
TEST(CausesOfTime, ASleepIsANap) {
  const std::vector<std::tuple<long, std::vector<std::uint64_t>, bool>> kCalls =
      {{SYS_clock_nanosleep, {}, true},
       {SYS_select, {0, 0, 0, 0, 1}, true},
       {SYS_select, {0, 0, 0, 0, 0}, false},
       {SYS_poll, {0, 0, 100}, true},
       {SYS_select, {5, 0, 0, 0}, false},
       {SYS_futex, {0, 0, 0, 0}, false}};
  for (const auto& [call, args, naps] : kCalls) {
    MadeUpSystem system;
    in_call(system, call, args);
    const auto found = diagnose(system, kOne, 1000);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->chain.front().naps, naps) << call;
  }
}

}  // namespace
}  // namespace hangdbg
