// The rules of the diagnosis that read a thread once more, since its sample is
// out of date: threads that run, that keep the GIL, that are traced; and tasks
// of an event loop. On processes that are made up.
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <cstdint>

#include "tests/unit/support/made_up_cases.h"

namespace hangdbg {
namespace {

// ---- threads that run

// Always at the same line of its own function.
ThreadSnapshot& spins(MadeUpSystem& system) {
  system.may_stop = true;
  auto& one = system.python(kOne);
  auto& thread = one.sleeps_in(SYS_read, {}, own_frames());
  thread.stack.complete = true;
  thread.wait = {.state = 'R', .call = {.running = true}};
  thread.looks = 5;
  thread.ran = true;
  thread.places = {"train.py:12 in load"};
  thread.cpu_percent = 100;
  one.locals = [](int) {
    return std::map<std::string, std::string>{{"done", "False"}};
  };
  return thread;
}

// ---- the GIL

// The flag, and behind it how often the GIL has changed its holder.
std::uint64_t gil_words[2] = {1, 7};

// Its first thread holds the GIL, its second waits for that.
ThreadSnapshot& keeps_gil(MadeUpSystem& system) {
  auto& one = system.python(kOne);
  const Address flag{reinterpret_cast<std::uintptr_t>(&gil_words[0])};
  one.sleeps_in(SYS_semtimedop, {}, own_frames());
  one.sleeps_in(SYS_futex, {flag.value + 16}, own_frames());
  one.gil = GilState{.locked = true, .locked_word = flag, .holder_tid = kOne};
  one.is_in(one.threads[0], {"compute", "entry"}, "own.so");
  return one.threads[0];
}

// ---- a debugger

ThreadSnapshot& is_traced(MadeUpSystem& system, int tracer) {
  auto& one = system.python(kOne);
  auto& thread = one.sleeps_in(SYS_semtimedop, {}, own_frames());
  thread.wait.state = 't';
  one.statuses[kOne] = {.state = 't', .tracer_pid = tracer};
  return thread;
}

// ---- event loops

AsyncioTask task(std::uint64_t address,
                 const std::string& name,
                 std::vector<Address> waits_for = {}) {
  return {.address = Address{address},
          .name = name,
          .state = "waits",
          .future = waits_for.empty() ? "Future" : "Task",
          .waits_for = std::move(waits_for)};
}

MadeUpProcess& in_event_loop(MadeUpSystem& system,
                             std::vector<AsyncioTask> tasks,
                             std::uint64_t millis = ~0ULL) {
  auto& one = system.python(kOne);
  one.sleeps_in(SYS_epoll_wait, {6, 0, 0, millis},
                called({{"selectors.py", "select"},
                        {"asyncio/base_events.py", "_run_once"}}));
  one.files[6] = {.fd = 6, .kind = FileKind::Epoll};
  one.tasks.tasks = std::move(tasks);
  return one;
}

}  // namespace

const std::vector<MadeUpCase>& sampled_cases() {
  using enum Progress;
  using enum Confidence;
  static const std::vector<MadeUpCase> kCases = {
      {"a_loop_in_which_nothing_changes", CauseId::BusyLoop, Blocked, Likely,
       true, "spins without changing any state, cpu 100 %, at train.py:12",
       [](auto& system) { spins(system); }},
      {"a_loop_that_counts", CauseId::Runs, Running, Likely, false,
       "runs, cpu 100 %, in the loop at train.py:12",
       [](auto& system) {
         spins(system);
         system.at(kOne).locals = [](int sample) {
           return std::map<std::string, std::string>{
               {"i", std::to_string(sample)}};
         };
       }},
      {"one_call_all_the_time", CauseId::Runs, Running, Likely, false, "runs",
       [](auto& system) {
         spins(system);
         system.at(kOne).frame_loops["load"] = {
             .call = {.at = 8, .callee = "str", .text = "str(x)"},
             .loops = {{.first_line = 11, .last_line = 12}}};
       }},
      {"a_loop_that_asks_for_the_time", CauseId::Runs, Running, Likely, false,
       "",
       [](auto& system) {
         spins(system);
         system.at(kOne).frame_loops["load"] = {
             .loops = {
                 {.first_line = 11, .last_line = 12, .asks_clock = true}}};
       }},
      {"a_loop_that_computes_in_c", CauseId::Runs, Running, Likely, false, "",
       [](auto& system) {
         ThreadSnapshot& thread = spins(system);
         system.at(kOne).is_in(thread, {"multiply"}, "libblas.so.3");
       }},
      {"a_loop_that_may_not_be_stopped", CauseId::Runs, Running, Likely, false,
       "",
       [](auto& system) {
         spins(system);
         system.may_stop = false;
       }},
      {"keeps_the_gil_asleep", CauseId::GilHeld, Blocked, Likely, true,
       "keeps the GIL in C code: compute (own.so), called at train.py:12",
       [](auto& system) { keeps_gil(system); }},
      {"keeps_the_gil_and_computes", CauseId::GilHeld, Running, Likely, false,
       "runs C code and keeps the GIL, and 1 other thread waits for the GIL",
       [](auto& system) {
         ThreadSnapshot& thread = keeps_gil(system);
         thread.wait = {.state = 'R', .call = {.running = true}};
         thread.looks = 5;
         thread.places = {"train.py:12 in load"};
       }},
      {"the_gil_has_gone_to_another", CauseId::Unknown, Unknown, Possible, true,
       "",
       [](auto& system) {
         keeps_gil(system);
         system.at(kOne).gil->holder_tid = kThird;
       }},
      {"a_debugger_holds_it", CauseId::Traced, Stuck, Certain, true,
       "is held by a debugger, process ",
       [](auto& system) { is_traced(system, ::getpid()); }},
      {"a_debugger_has_just_left", CauseId::Unknown, Unknown, Possible, true,
       "", [](auto& system) { is_traced(system, 0); }},
      {"tasks_that_wait_for_each_other", CauseId::AwaitCycle, Stuck, Certain,
       true, "2 tasks wait for each other",
       [](auto& system) {
         in_event_loop(system, {task(0x1000, "a", {Address{0x2000}}),
                                task(0x2000, "b", {Address{0x1000}})});
       }},
      {"a_future_that_nobody_sets", CauseId::FutureUnset, Stuck, Likely, true,
       "runs an event loop whose 1 task waits for what nobody is left to do",
       [](auto& system) { in_event_loop(system, {task(0x1000, "main")}); }},
      {"a_future_beside_a_thread_that_works", CauseId::Condition, Blocked,
       Possible, false, "runs an event loop whose task main waits for a Future",
       [](auto& system) {
         in_event_loop(system, {task(0x1000, "main")})
             .sleeps_in(SYS_read, {}, own_frames())
             .wait.state = 'R';
       }},
      {"a_future_and_a_timer", CauseId::Condition, Blocked, Possible, false,
       "runs an event loop whose task main waits for a Future",
       [](auto& system) {
         in_event_loop(system, {task(0x1000, "main")}, /*millis=*/5000);
       }},
  };
  return kCases;
}

INSTANTIATE_MADE_UP(Sampled, sampled_cases);

}  // namespace hangdbg
