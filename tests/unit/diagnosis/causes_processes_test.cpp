// The rules of the diagnosis about children, pools, the ends of programs,
// launchers and DataLoaders, on processes that are made up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "diagnosis/diagnose.h"
#include "tests/unit/support/made_up_cases.h"
#include "tests/unit/support/processes.h"

namespace hangdbg {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kAny = ~0ULL;

MadeUpProcess& waits_for_child(MadeUpSystem& system,
                               std::uint64_t which = kAny,
                               long call = SYS_wait4) {
  auto& one = system.python(kOne);
  one.sleeps_in(
      call, call == SYS_wait4 ? std::vector{which} : std::vector{1UL, which},
      own_frames());
  return one;
}
MadeUpProcess& child(MadeUpSystem& system, int pid = kOther) {
  system.parents.emplace(kOne, pid);
  auto& one = system.process(pid);
  one.sleeps_in(SYS_clock_nanosleep, {});
  return one;
}
void computes(MadeUpProcess& one) {
  one.threads.front().wait = {.state = 'R', .call = {.running = true}};
}

constexpr const char* kPool = "multiprocessing/pool.py";

MadeUpProcess& at_pool(MadeUpSystem& system, const char* function = "get") {
  auto& one = system.python(kOne);
  one.sleeps_in(SYS_futex, {},
                called({{"threading.py", "wait"},
                        {"threading.py", "wait"},
                        {kPool, function}}));
  return one;
}
MadeUpProcess& pool_worker(MadeUpSystem& system,
                           bool busy,
                           int pid = kOther,
                           int parent = kOne) {
  system.parents.emplace(parent, pid);
  auto& worker = system.python(pid);
  auto frames = called({{kPool, "worker"}});
  frames.insert(frames.begin(),
                busy ? own_frames().front()
                     : called({{"multiprocessing/queues.py", "get"}}).front());
  worker.sleeps_in(SYS_clock_nanosleep, {}, std::move(frames));
  return worker;
}

MadeUpProcess& at_exit(MadeUpSystem& system,
                       long call,
                       std::vector<std::uint64_t> args = {}) {
  auto& one = system.python(kOne);
  one.sleeps_in(call, args,
                called({{"multiprocessing/util.py", "_exit_function"}}));
  return one;
}

constexpr const char* kAgent =
    "site-packages/torch/distributed/elastic/agent/server/api.py";
constexpr const char* kLoader = "site-packages/torch/utils/data/dataloader.py";

// A process that waits for a batch of these workers.
MadeUpProcess& at_loader(MadeUpSystem& system,
                         const std::vector<int>& workers) {
  auto& one = system.python(kOne);
  one.sleeps_in(SYS_poll, {0, 0, 5000},
                called({{"multiprocessing/connection.py", "wait"},
                        {kLoader, "_try_get_data"}}));
  for (std::size_t i = 0; i < workers.size(); ++i) {
    one.numbers[{"_try_get_data",
                 fmt::format("self._workers[{}]._popen.pid", i)}] = workers[i];
    one.reprs[{"_try_get_data",
               fmt::format("self._workers[{}]._popen.returncode", i)}] = "None";
  }
  return one;
}

MadeUpProcess& pins_memory(MadeUpProcess& one, const char* function) {
  one.sleeps_in(SYS_semtimedop, {},
                called({{"json/decoder.py", function},
                        {"site-packages/torch/utils/data/_utils/pin_memory.py",
                         "_pin_memory_loop"}}));
  one.numbers[{"_try_get_data", "self._pin_memory_thread._ident"}] = 8;
  return one;
}

}  // namespace

const std::vector<MadeUpCase>& process_cases() {
  using enum Progress;
  using enum Confidence;
  static const std::vector<MadeUpCase> kCases = {
      // ---- children
      {"a_child_at_work", CauseId::Child, Blocked, Certain, false,
       "waits for the end of its child, process 99999902",
       [](auto& system) {
         waits_for_child(system);
         computes(child(system));
       }},
      {"a_child_that_sleeps", CauseId::Child, Blocked, Certain, false, "",
       [](auto& system) {
         waits_for_child(system, kOther);
         child(system);
         child(system, kThird);
       }},
      {"any_of_two_children", CauseId::Child, Blocked, Certain, false,
       "one of its 2 children",
       [](auto& system) {
         waits_for_child(system);
         child(system);
         child(system, kThird);
       }},
      {"by_waitid", CauseId::Child, Blocked, Certain, false, "its child",
       [](auto& system) {
         waits_for_child(system, kOther, SYS_waitid);
         child(system);
         child(system, kThird);
       }},
      {"by_waitid_of_a_pidfd", CauseId::Child, Blocked, Certain, false,
       "waits for the end of its child, process 99999902",
       [](auto& system) {
         auto& one = waits_for_child(system, 5, SYS_waitid);
         one.threads.front().wait.call.args[0] = P_PIDFD;
         one.files[5] = {.fd = 5, .kind = FileKind::PidFd, .pid = kOther};
         child(system);
         child(system, kThird);
       }},
      {"by_waitid_of_any", CauseId::Child, Blocked, Certain, false,
       "one of its 2 children",
       [](auto& system) {
         waits_for_child(system, kOther, SYS_waitid)
             .threads.front()
             .wait.call.args[0] = P_ALL;
         child(system);
         child(system, kThird);
       }},
      {"by_pidfd", CauseId::Child, Blocked, Certain, false,
       "waits for the end of its child, process 99999902",
       [](auto& system) {
         waits_for_child(system, kOther, SYS_read);
         system.at(kOne).threads.front().wait.call.args[0] = 5;
         system.at(kOne).files[5] = {
             .fd = 5, .kind = FileKind::PidFd, .pid = kOther};
         child(system);
       }},
      {"by_a_pidfd_of_another", CauseId::Child, Blocked, Certain, false,
       "waits for the end of process 99999902",
       [](auto& system) {
         waits_for_child(system, kOther, SYS_read);
         system.at(kOne).threads.front().wait.call.args[0] = 5;
         system.at(kOne).files[5] = {
             .fd = 5, .kind = FileKind::PidFd, .pid = kOther};
         child(system);
         system.parents.clear();
       }},
      {"a_child_for_a_limited_time", CauseId::Child, Blocked, Certain, false,
       "waits for the end of its child, process 99999902",
       [](auto& system) {
         auto& one = system.python(kOne);
         one.sleeps_in(SYS_clock_nanosleep, {},
                       called({{"subprocess.py", "_wait"}}));
         one.numbers[{"_wait", "self.pid"}] = kOther;
         child(system);
       }},
      {"a_child_that_is_not_seen", CauseId::Child, Blocked, Certain, true,
       "process 99999902, which cannot be seen",
       [](auto& system) { waits_for_child(system, kOther); }},
      {"no_child", CauseId::Child, Blocked, Certain, true, "has none that can",
       [](auto& system) { waits_for_child(system); }},
      {"a_child_that_is_stopped", CauseId::Child, Blocked, Certain, true, "",
       [](auto& system) {
         waits_for_child(system);
         child(system).threads.front().wait.state = 'T';
       }},
      {"a_child_of_threads_that_is_no_python", CauseId::Child, Blocked, Certain,
       false, "",
       [](auto& system) {
         waits_for_child(system);
         auto& java = child(system);
         java.threads.front().wait.call.number = SYS_semtimedop;
         java.sleeps_in(SYS_semtimedop, {});
       }},
      // ---- pools
      {"a_pool_at_work", CauseId::PoolResult, Blocked, Likely, false,
       "of 2 workers 1 is at work",
       [](auto& system) {
         at_pool(system);
         pool_worker(system, true);
         system.parents.emplace(kOne, kThird);
         system.python(kThird).sleeps_in(
             SYS_futex, {},
             called({{"multiprocessing/queues.py", "get"}, {kPool, "worker"}}));
         computes(system.at(kOther));
       }},
      {"a_pool_whose_task_is_in_c", CauseId::PoolResult, Blocked, Likely, true,
       "of 1 workers 1 is at work",
       [](auto& system) {
         at_pool(system);
         system.parents.emplace(kOne, kOther);
         system.python(kOther).sleeps_in(SYS_futex, {},
                                         called({{kPool, "worker"}}));
       }},
      {"a_pool_of_threads_at_work", CauseId::PoolResult, Blocked, Likely, false,
       "waits for a result of a ThreadPool: of 2 threads 1 is at work",
       [](auto& system) {
         auto& one = at_pool(system);
         one.sleeps_in(SYS_futex, {}, called({{kPool, "worker"}}));
         auto frames = called({{kPool, "worker"}});
         frames.insert(frames.begin(), own_frames().front());
         one.sleeps_in(SYS_clock_nanosleep, {}, frames);
       }},
      {"a_pool_whose_task_sleeps", CauseId::PoolResult, Blocked, Likely, false,
       "of 1 workers 1 is at work",
       [](auto& system) {
         at_pool(system);
         pool_worker(system, true);
       }},
      {"a_pool_of_a_fork_server", CauseId::PoolResult, Blocked, Likely, false,
       "of 1 workers",
       [](auto& system) {
         at_pool(system, "wait");
         child(system);
         pool_worker(system, true, kThird, kOther);
         computes(system.at(kThird));
       }},
      {"a_pool_of_threads", CauseId::Condition, Blocked, Possible, true, "",
       [](auto& system) {
         at_pool(system, "next");
         child(system);
         system.at(kOne).sleeps_in(SYS_clock_nanosleep, {}, own_frames());
       }},
      {"a_pool_that_was_just_done", CauseId::Condition, Blocked, Possible, true,
       "",
       [](auto& system) {  // kOne is missing: it has run since
         at_pool(system);
         pool_worker(system, false).threads.front().wait.syscall = "futex";
         system.at(kOne).sleeps_in(SYS_clock_nanosleep, {}, own_frames());
       }},
      // ---- the end of a program
      {"an_exit_handler", CauseId::ExitHandler, Blocked, Possible, true,
       "has come to its end, and asleep in semtimedop",
       [](auto& system) { at_exit(system, SYS_semtimedop); }},
      {"sleeps_at_its_end", CauseId::ExitHandler, Blocked, Certain, true,
       "has come to its end, and sleeps",
       [](auto& system) { at_exit(system, SYS_clock_nanosleep); }},
      {"a_child_at_its_end", CauseId::Child, Blocked, Certain, false,
       "has come to its end, and waits for the end of its child",
       [](auto& system) {
         at_exit(system, SYS_wait4, {kOther});
         computes(child(system));
       }},
      {"works_at_its_end", CauseId::Runs, Running, Likely, false, "runs",
       [](auto& system) { computes(at_exit(system, SYS_semtimedop)); }},
      // ---- launchers
      {"torchruns_agent", CauseId::Launcher, Idle, Certain, false,
       "waits for the end of the ranks",
       [](auto& system) {
         system.python(kOne).sleeps_in(SYS_clock_nanosleep, {},
                                       called({{kAgent, "_invoke_run"}}));
       }},
      {"spawns_ranks", CauseId::Launcher, Idle, Certain, false, "",
       [](auto& system) {
         system.python(kOne).sleeps_in(
             SYS_poll, {0, 0, kAny},
             called(
                 {{"multiprocessing/connection.py", "wait"},
                  {"site-packages/torch/multiprocessing/spawn.py", "join"}}));
       }},
      {"a_rendezvous", CauseId::Rendezvous, Blocked, Likely, true,
       "until the launchers of 2 nodes are there",
       [](auto& system) {
         auto& one = system.python(kOne);
         one.sleeps_in(
             SYS_clock_nanosleep, {},
             called({{"site-packages/torch/distributed/elastic/rendezvous/"
                      "dynamic_rendezvous.py",
                      "next_rendezvous"},
                     {kAgent, "_rendezvous"}}));
         one.numbers[{"next_rendezvous", "self._settings.min_nodes"}] = 2;
       }},
      {"a_static_rendezvous", CauseId::Rendezvous, Blocked, Likely, true,
       "until the launchers of all nodes are there",
       [](auto& system) {
         system.python(kOne).sleeps_in(SYS_clock_nanosleep, {},
                                       called({{kAgent, "_rendezvous"}}));
       }},
      // ---- DataLoaders: live workers are real
      {"a_worker_that_has_ended_unnoticed", CauseId::DataLoaderWorkerDead,
       Stuck, Likely, true, "of 1 workers 1 have ended, which it does not know",
       [](auto& system) { at_loader(system, {kOther}); }},
      {"a_worker_that_has_ended", CauseId::DataLoaderWorkerDead, Blocked,
       Likely, true, "of 1 workers 1 have ended",
       [](auto& system) {
         at_loader(system, {kOther})
             .reprs[{"_try_get_data", "self._workers[0]._popen.returncode"}] =
             "-9";
       }},
      {"a_worker_at_its_batch", CauseId::DataLoader, Blocked, Likely, false,
       "of 1 workers 1 are at work",
       [](auto& system) {
         at_loader(system, {::getpid()});
         system.python(::getpid())
             .sleeps_in(SYS_clock_nanosleep, {}, own_frames());
       }},
      {"a_worker_without_work_and_one_who_pins", CauseId::DataLoader, Blocked,
       Likely, true, "of 1 workers 0 are at work",
       [](auto& system) {
         pins_memory(at_loader(system, {::getpid()}), "decode");
         system.python(::getpid())
             .sleeps_in(SYS_futex, {},
                        called({{"site-packages/torch/utils/data/_utils/"
                                 "worker.py",
                                 "_worker_loop"}}));
       }},
  };
  return kCases;
}

INSTANTIATE_MADE_UP(Processes, process_cases);

namespace {

// ---- lost batches, by a thread that has not run since: this one is real

class Sleeper {
 public:
  Sleeper()
      : child_([this] {
          send(ready_.write, 'x');
          ::pause();
        }) {
    EXPECT_TRUE(receive<char>(ready_.read));
    EXPECT_TRUE(sleeps_in(pid(), pid(), "pause"));
  }
  int pid() const { return child_.pid(); }
  SchedStats runs() const { return sample_wait(pid(), pid())->runs; }

 private:
  Pipe ready_;
  Child child_;
};

TEST(Causes, ATaskOfAPoolThatIsLost) {
  const Sleeper real;
  MadeUpSystem system;
  auto& one = system.python(real.pid());
  one.sleeps_in(SYS_futex, {},
                called({{"threading.py", "wait"}, {kPool, "get"}}))
      .wait.runs = real.runs();
  system.parents.emplace(real.pid(), kOther);
  system.python(kOther).sleeps_in(
      SYS_futex, {},
      called({{"multiprocessing/queues.py", "get"}, {kPool, "worker"}}));
  const Cause cause = cause_of(system, real.pid());
  EXPECT_EQ(cause.id, CauseId::TaskLost);
  EXPECT_EQ(cause.progress, Progress::Blocked);
  EXPECT_THAT(cause.summary, HasSubstr("none of its 1 workers is at"));
}

TEST(Causes, ABatchThatIsLost) {
  const Sleeper real;
  const Sleeper worker;
  MadeUpSystem system;
  auto& one = system.python(real.pid());
  one.sleeps_in(SYS_poll, {0, 0, 5000}, called({{kLoader, "_try_get_data"}}))
      .wait.runs = real.runs();
  one.numbers[{"_try_get_data", "self._workers[0]._popen.pid"}] = worker.pid();
  system.python(worker.pid())
      .sleeps_in(SYS_futex, {},
                 called({{"site-packages/torch/utils/data/_utils/worker.py",
                          "_worker_loop"}}));
  const Cause cause = cause_of(system, real.pid());
  EXPECT_EQ(cause.progress, Progress::Stuck);
  EXPECT_THAT(cause.id, testing::AnyOf(CauseId::BatchLost, CauseId::ShmFull));
  EXPECT_THAT(cause.summary,
              HasSubstr("none of its 1 workers is at: it was lost"));
}

// ---- its blocker

TEST(Causes, AResultThatAStuckWorkerHas) {
  MadeUpSystem system;
  at_pool(system);
  auto& worker = pool_worker(system, true);
  worker.threads.front().wait.call = {.number = SYS_read, .args = {5}};
  worker.threads.front().wait.syscall = "read";
  worker.open_pipe(5, 41);
  const auto found = diagnose(system, kOne, 1000);
  EXPECT_TRUE(found->stalled);
  EXPECT_EQ(found->cause.id, CauseId::WriterGone);
  EXPECT_THAT(found->chain.back().id, (ThreadId{kOther, kOther}));
}

TEST(Causes, AThreadThatPinsMemoryIsBehindItBeforeTheWorkers) {
  MadeUpSystem system;
  auto& one = pins_memory(at_loader(system, {::getpid()}), "decode");
  system.python(::getpid()).sleeps_in(SYS_clock_nanosleep, {}, own_frames());
  EXPECT_THAT(cause_of(system, kOne).blocked_by,
              ElementsAre(one.threads[1].id, ThreadId{::getpid(), ::getpid()}));
}

TEST(Causes, ARendezvousHasMorePatience) {
  MadeUpSystem system;
  system.python(kOne).sleeps_in(SYS_clock_nanosleep, {},
                                called({{kAgent, "_rendezvous"}}));
  EXPECT_EQ(cause_of(system, kOne).timeout_scale, 6);
  EXPECT_TRUE(diagnose(system, kOne, 9)->stalled);
  EXPECT_FALSE(diagnose(system, kOne, 11)->stalled);
}

}  // namespace
}  // namespace hangdbg
