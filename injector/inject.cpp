#include "injector/inject.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <set>
#include <thread>

#include "base/checkpoint.h"
#include "base/log.h"
#include "injector/agent_finder.h"
#include "injector/agent_image.h"
#include "injector/at_rest.h"
#include "injector/checks/new_threads.h"
#include "injector/checks/thread_choice.h"
#include "injector/injection_lock.h"
#include "injector/stub/borrowed_thread.h"
#include "tracee/proc/proc_status.h"
#include "tracee/proc/proc_tasks.h"

namespace hangdbg {
namespace {

constexpr auto kInjectStopTimeout = std::chrono::milliseconds(500);
// A process that is being killed fails us in many ways before it is gone.
constexpr auto kEnding = std::chrono::milliseconds(100);
constexpr auto kFirstBackOff = std::chrono::milliseconds(1);
constexpr auto kLongestBackOff = std::chrono::milliseconds(10);

// Ctrl-Z waits while a thread of the target is stopped by us: it would stay
// stopped for as long as we are.
class NoJobControl {
 public:
  NoJobControl() {
    sigset_t held;
    ::sigemptyset(&held);
    for (const int signal : {SIGTSTP, SIGTTIN, SIGTTOU}) {
      ::sigaddset(&held, signal);
    }
    ::pthread_sigmask(SIG_BLOCK, &held, &before_);
  }
  ~NoJobControl() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoJobControl(const NoJobControl&) = delete;
  NoJobControl& operator=(const NoJobControl&) = delete;

 private:
  sigset_t before_;
};

Result<Injection> try_to_inject(int pid,
                                const AgentProgram& agent,
                                Deadline deadline);
Result<Address> start_agent(const AttachTarget& target,
                            const AgentImage& image,
                            Deadline deadline,
                            Steps& steps);
Result<Address> start_agent_on(const AttachTarget& target,
                               Candidate candidate,
                               const AgentImage& image,
                               const Fd& proc_mem,
                               NativeUnwinder& unwinder,
                               WaitKeeper& wait,
                               Deadline deadline,
                               Steps& steps);
bool worth_another_try(const Error& error);
bool is_seccomps(const Error& error);

}  // namespace

Result<Injection> inject(int pid,
                         const AgentProgram& agent,
                         Deadline deadline) {
  auto injection = try_to_inject(pid, agent, deadline);
  if (!injection && injection.error().id != ErrorId::NoSuchProcess &&
      injection.error().id != ErrorId::Zombie &&
      ends_before(pid, Deadline::in(kEnding))) {
    return fail(ErrorId::TargetDied,
                fmt::format("process {} ended during the attach", pid));
  }
  return injection;
}

Result<AllowedCalls> ask_filter(const AttachTarget& target, Deadline deadline) {
  Result<AllowedCalls> answer =
      fail(ErrorId::NoSafeThread, "no thread of the target can be asked");
  std::set<int> forbidding;
  for (const auto& [tid, _] : TRY(candidate_threads(target))) {
    const int filters = count_filters(target.pid, tid);
    if (forbidding.contains(filters) || waits_for_supervisor(target.pid, tid)) {
      continue;
    }
    const auto known = calls_known_unread(target.pid, tid, target.makers);
    if (known && *known) {
      return **known;
    }
    if (!known) {
      answer = std::unexpected(known.error());
      forbidding.insert(filters);
      continue;
    }
    WaitKeeper wait(target.pid, tid);
    answer = run_as_tracer([&]() -> Result<AllowedCalls> {
      auto thread = TRY(TracedThread::seize(tid));
      TRY(wait.interrupt(thread, deadline.capped(kInjectStopTimeout)));
      wait.stopped(thread, TRY(thread.registers()));
      auto allowed = read_allowed_calls(target.pid, thread, target.makers);
      TRY(wait.let_go(thread));
      return allowed;
    });
    wait.note();
    if (!answer && is_seccomps(answer.error())) {
      forbidding.insert(filters);
    } else if (answer || !worth_another_try(answer.error())) {
      break;
    }
  }
  return answer;
}

namespace {

Result<Injection> try_to_inject(int pid,
                                const AgentProgram& agent,
                                Deadline deadline) {
  Injection injection;
  Steps& steps = injection.steps;
  // Before the first look: another hangdbg in the middle of its own injection
  // would look like a debugger.
  const Fd lock = TRY(lock_injections(pid, deadline));
  injection.target = TRY(preflight(pid));
  const AttachTarget& target = *injection.target;
  const auto fetcher = TRY(FdFetcher::open(pid));
  const auto image =
      TRY(make_image(target, agent, !fetcher.can_fetch_sockets()));
  steps.done("preflight");
  checkpoint("preflight-done");

  if (const auto region = TRY(find_agent(target))) {
    auto joined = join_agent(target, *region, fetcher, deadline);
    steps.done("join");
    if (joined) {
      injection.channels = *std::move(joined);
      return injection;
    }
    if (joined.error().id != ErrorId::ChannelClosed) {
      return std::unexpected(joined.error());
    }
  }
  const NoJobControl held;
  const Address region = TRY(start_agent(target, image, deadline, steps));
  injection.channels = TRY(take_channels(target.memory, region, fetcher,
                                         image.region.first_nonce, deadline));
  steps.done("channels");
  return injection;
}

// One thread after the other, round after round, until one is at a good place.
Result<Address> start_agent(const AttachTarget& target,
                            const AgentImage& image,
                            Deadline deadline,
                            Steps& steps) {
  const Fd proc_mem(::open(fmt::format("/proc/{}/mem", target.pid).c_str(),
                           O_RDWR | O_CLOEXEC));
  if (!proc_mem) {
    return fail_errno("cannot open the target's memory", ErrorId::NotPermitted);
  }
  NativeUnwinder unwinder(target.memory, target.modules);
  std::optional<Error> last;
  // What is a thread's own, and no reason to wait. Filters are only ever added:
  // who has as many as one that is forbidden our calls is not stopped for them.
  std::optional<Error> lasting;
  std::set<int> forbidding;
  AtRest rest(target.pid);
  for (auto back_off = Deadline::Clock::duration(kFirstBackOff);;
       back_off =
           std::min<Deadline::Clock::duration>(back_off * 2, kLongestBackOff)) {
    if (last && last->id == ErrorId::NoSafeThread && rest.is_still_so()) {
      return fail(last->id, last->message,
                  fmt::format("none of its threads has moved, so waiting does "
                              "not help: hangdbg dump {0} and hangdbg peek {0} "
                              "read it out of process",
                              target.pid));
    }
    bool is_only_reason = true;
    const auto candidates = TRY(candidate_threads(target));
    const bool some_mind =
        std::ranges::any_of(candidates, &Candidate::minds_a_stop);
    bool took_long = false;
    for (const auto& [tid, minds] : candidates) {
      if (took_long && some_mind && !minds) {
        continue;  // it may be one of many that the kernel does not stop
      }
      if (const Status starts = check_starts_threads(target.pid, tid);
          !starts) {
        lasting = starts.error();
        continue;
      }
      if (!forbidding.empty() &&
          forbidding.contains(count_filters(target.pid, tid))) {
        continue;
      }
      if (const Status worth = worth_stopping(target, tid, unwinder, deadline);
          !worth) {
        if (worth.error().id == ErrorId::NoSafeThread && !deadline.expired()) {
          last = worth.error();
        }
        is_only_reason = false;
        continue;
      }
      steps.done("choose");
      // A tracer for each: with its end the kernel releases a thread that did
      // not stop.
      WaitKeeper wait(target.pid, tid);
      rest.before_stop(tid, wait.look());
      auto region = run_as_tracer([&, tid, minds] {
        return start_agent_on(target, {tid, minds}, image, proc_mem, unwinder,
                              wait, deadline, steps);
      });
      wait.note();
      if (region) {
        return region;
      }
      log::info(log::Area::Injector, "{}", region.error().text());
      rest.look();
      if (is_seccomps(region.error())) {
        forbidding.insert(count_filters(target.pid, tid));
      }
      if (is_seccomps(region.error()) ||
          region.error().id == ErrorId::CallsDispatched) {
        lasting = region.error();
        continue;
      }
      is_only_reason = false;
      took_long |= region.error().id == ErrorId::TimedOut;
      if (!worth_another_try(region.error())) {
        return region;
      }
      // The last try had no time to find out; what was found before counts.
      if (!deadline.expired() || !last) {
        last = region.error();
      }
      if (deadline.expired()) {
        break;
      }
    }
    rest.look();
    if (ends_before(target.pid, Deadline::in({}))) {
      return fail(ErrorId::TargetDied, "the target has ended");
    }
    if (lasting && is_only_reason) {
      return std::unexpected(*std::move(lasting));
    }
    if (deadline.expired()) {
      return fail(
          last ? last->id : ErrorId::NoSafeThread,
          last ? last->message : "no thread of the target can be borrowed",
          fmt::format("each thread was looked at until time was up; try again "
                      "with --timeout, or hangdbg dump {} out of process",
                      target.pid));
    }
    std::this_thread::sleep_for(std::min(back_off, deadline.left()));
  }
}

Result<Address> start_agent_on(const AttachTarget& target,
                               Candidate candidate,
                               const AgentImage& image,
                               const Fd& proc_mem,
                               NativeUnwinder& unwinder,
                               WaitKeeper& wait,
                               Deadline deadline,
                               Steps& steps) {
  const int tid = candidate.tid;
  auto allowed = TRY(calls_known_unread(target.pid, tid, target.makers));
  auto thread = TRY(TracedThread::seize(tid));
  checkpoint("seized");
  if (!candidate.minds_a_stop && minds_a_stop(target, tid)) {
    return fail(ErrorId::NoSafeThread,
                fmt::format("thread {}: it has moved to where a stop could "
                            "fail its call",
                            tid));
  }
  TRY(wait.interrupt(thread, deadline.capped(kInjectStopTimeout)));
  const auto stopped_at = Steps::Clock::now();
  checkpoint("stopped");
  steps.done("stop");

  const auto registers = TRY(thread.registers());
  wait.stopped(thread, registers);
  if (!allowed) {
    allowed = TRY(read_allowed_calls(target.pid, thread, target.makers));
  }
  if (const Status safe =
          check_safe(target, thread, registers, unwinder, deadline);
      !safe) {
    TRY(wait.let_go(thread));
    return std::unexpected(safe.error());
  }
  checkpoint("judged");
  steps.done("judge");

  RegionPlan plan = image.plan;
  plan.may_yield = allowed->sched_yield;
  auto borrowed = TRY(
      BorrowedThread::borrow(target, thread, registers, proc_mem, plan, wait));
  const Address base = TRY(borrowed.wait_until_mapped(deadline));
  steps.done("map");
  TRY(write_proc_mem(proc_mem, base, image.text));
  const Address region = base + image.plan.text_size;
  const HdRegion filled = without(image.region, *allowed);
  TRY(target.memory.write(region, std::as_bytes(std::span(&filled, 1))));
  TRY(target.memory.write(region + HD_AGENT_OFFSET, image.agent));
  checkpoint("filled");
  steps.done("fill");

  TRY(borrowed.start_thread(deadline));
  steps.done("thread");
  TRY(borrowed.give_back());
  steps.add("borrowed", Steps::Clock::now() - stopped_at);
  steps.done("give-back");
  return region;
}

bool is_seccomps(const Error& error) {
  return error.id == ErrorId::SeccompForbids ||
         error.id == ErrorId::SeccompUnknown;
}

bool worth_another_try(const Error& error) {
  switch (error.id) {
    case ErrorId::NoSafeThread:
    case ErrorId::NoSuchThread:   // it has just ended
    case ErrorId::TracedAlready:  // a sibling, for a moment
    case ErrorId::TimedOut:       // in D state, or a very busy machine
    case ErrorId::TargetDied:     // only that thread, perhaps
      return true;
    default:
      return false;
  }
}

}  // namespace
}  // namespace hangdbg
