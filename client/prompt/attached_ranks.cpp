#include "client/prompt/attached_ranks.h"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/parallel_map.h"
#include "base/text.h"
#include "client/prompt/stops.h"
#include "client/ranks/rank_prefix.h"
#include "client/terminal/interrupt.h"
#include "client/terminal/render.h"
#include "client/terminal/session_output.h"
#include "inspector/jobs/choice.h"
#include "protocol/events/output.h"
#include "server/session/cached_source.h"
#include "server/session/hold.h"

namespace hangdbg {
namespace {

Session::Hooks hooks_of(AttachedRank& rank,
                        const Palette& out,
                        const Palette& err,
                        BreakEvents* const& events);
int run_in_turn(PromptState& state, std::deque<std::string>& commands);
Result<std::optional<Stop>> stop_of_waiting(Session& session,
                                            Deadline deadline);
Status show_banner(AttachedRank& rank);

}  // namespace

AttachedRanks::AttachedRanks(const CommonOptions& options)
    : options_(options),
      out_(options.colour, stdout),
      err_(options.colour, stderr) {}

AttachedRanks::~AttachedRanks() = default;

std::map<int, Error> AttachedRanks::attach_all(
    const std::vector<JobRank>& ranks) {
  std::vector<int> pids;
  std::map<int, int> numbers;
  for (const JobRank& rank : ranks) {
    if (const auto there = all_.find(rank.pid); there != all_.end()) {
      there->second->rank = rank.rank;  // it may have been attached by its PID
    } else {
      pids.push_back(rank.pid);
      numbers[rank.pid] = rank.rank;
    }
  }
  std::map<int, Error> failed;
  parallel_map<std::unique_ptr<AttachedRank>>(
      pids, options_.deadline(),
      [this, numbers](int pid) {
        return attach(pid, numbers.at(pid), IfClosed::Refuse);
      },
      [&](int pid, std::optional<Result<std::unique_ptr<AttachedRank>>> made) {
        if (made && *made) {
          all_[pid] = **std::move(made);
        } else {
          failed.emplace(
              pid, made ? made->error()
                        : Error{.id = ErrorId::TimedOut, .message = "timeout"});
        }
      });
  return failed;
}

Result<AttachedRank*> AttachedRanks::open(int pid,
                                          std::optional<int> rank,
                                          const PlaceOptions& place) {
  AttachedRank* const attached =
      TRY(find_or_attach(pid, rank, IfClosed::LookFromOutside));
  const Interruptible interruptible(*attached->session);
  TRY(enter(*attached, place));
  TRY(show_banner(*attached));
  return attached;
}

Status AttachedRanks::enter(AttachedRank& rank, const PlaceOptions& place) {
  Session& session = *rank.session;
  const auto stop = TRY(stop_of_waiting(session, options_.deadline()));
  auto thread = TRY(
      choose_thread(session, stop ? fmt::format("{}", stop->tid) : place.thread,
                    options_.deadline()));
  PromptState& state = rank.state.emplace(
      PromptState{session, rank.sources, options_, out_, err_,
                  TRY(Place::at(std::move(thread), place.frame))});
  state.rank = rank.rank;
  state.others = this;
  if (stop) {
    state.held.insert(stop->tid);
    if (stop->why.reason == "exception") {
      rank.raised = stop->why.description.value_or("");
    }
  }
  return timer_ ? timer_->watch(rank) : Status();
}

Result<AttachedRank*> AttachedRanks::join(const JobRank& rank) {
  AttachedRank* const attached =
      TRY(find_or_attach(rank.pid, rank.rank, IfClosed::Refuse));
  const Interruptible interruptible(*attached->session);
  if (!attached->state) {
    TRY(enter(*attached, {}));
  }
  attached->state->rank = rank.rank;
  return attached;
}

int AttachedRanks::prompt(int pid,
                          std::optional<std::deque<std::string>> commands) {
  for (;;) {
    PromptState& state = *all_[pid]->state;
    int code = 0;
    {
      const Interruptible interruptible(*all_[pid]->session);
      code = commands ? run_in_turn(state, *commands) : run_prompt(state);
    }
    if (!state.go_to) {
      return code;
    }
    const int to = *std::exchange(state.go_to, std::nullopt);
    state.leaving = false;
    const auto next = go_to(pid, to);
    if (next) {
      pid = *next;
    } else {
      report(next.error(), err_);
      if (commands) {
        return exit_code(next.error().id);
      }
    }
  }
}

std::vector<AttachedRank*> AttachedRanks::all() {
  std::vector<AttachedRank*> all;
  for (const auto& [pid, one] : all_) {
    all.push_back(one.get());
  }
  std::ranges::sort(all, {}, &AttachedRank::rank);
  return all;
}

AttachedRank* AttachedRanks::find_rank(int rank) {
  const auto all = this->all();
  const auto found = std::ranges::find(all, rank, &AttachedRank::rank);
  return found == all.end() ? nullptr : *found;
}

void AttachedRanks::look() {
  for (AttachedRank* const one : all()) {
    if (one->state && !one->session->over()) {
      // What is lost here is told by the next command.
      [[maybe_unused]] const Status taken = take_stops(*one->state);
    }
  }
  if (timer_) {
    timer_->look();
  }
}

std::optional<int> AttachedRanks::stopped_elsewhere(const PromptState& than) {
  for (const AttachedRank* const one : all()) {
    if (one->rank && one->state && &*one->state != &than &&
        !one->state->unseen.empty()) {
      return one->rank;
    }
  }
  return std::nullopt;
}

void AttachedRanks::await(Deadline deadline) {
  std::vector<pollfd> polled;
  for (const AttachedRank* const one : all()) {
    if (!one->session->over()) {
      polled.push_back({one->session->descriptor(), POLLIN, 0});
    }
  }
  ::poll(polled.data(), polled.size(), deadline.left_ms());
}

Result<dap::ProcessGroups::Body> AttachedRanks::process_groups(
    AttachedRank& rank,
    std::optional<std::chrono::milliseconds> raise_by,
    Deadline deadline,
    bool recorded) {
  TRY(rank.session->need("engine", deadline));
  TRY(rank.session->need("process_groups", deadline));
  dap::ProcessGroups::Arguments arguments;
  if (raise_by) {
    arguments.raise_by_ms = raise_by->count();
  }
  if (recorded) {
    arguments.recorded = true;
  }
  return rank.session->call<dap::ProcessGroups>(arguments, deadline);
}

Status AttachedRanks::limit(TimeoutOverride raised) {
  timer_.emplace(*this, std::move(raised));
  for (AttachedRank* const one : all()) {
    if (one->state) {
      TRY(timer_->watch(*one));
    }
  }
  return {};
}

Result<AttachedRank*> AttachedRanks::find_or_attach(int pid,
                                                    std::optional<int> rank,
                                                    IfClosed then) {
  const auto there = all_.find(pid);
  if (there != all_.end() && there->second->session->alive()) {
    there->second->rank = rank ? rank : there->second->rank;
    return there->second.get();
  }
  if (there != all_.end() && timer_) {
    timer_->forget(pid);
  }
  if (there != all_.end()) {
    // A prompt may still be in it.
    gone_.push_back(std::move(there->second));
    all_.erase(there);
  }
  auto made = TRY(attach(pid, rank, then));
  return (all_[pid] = std::move(made)).get();
}

Result<std::unique_ptr<AttachedRank>>
AttachedRanks::attach(int pid, std::optional<int> rank, IfClosed then) {
  auto attached = std::make_unique<AttachedRank>(
      AttachedRank{pid, rank, SourceText(pid), sample_threads(pid)});
  const auto started = Deadline::Clock::now();
  auto session = Session::attach(pid, hooks_of(*attached, out_, err_, events_),
                                 options_.deadline());
  if (!session && session.error().id == ErrorId::NoSafeThread &&
      then == IfClosed::LookFromOutside) {
    session = Session::open_outside(
        pid, hooks_of(*attached, out_, err_, events_), session.error());
  }
  attached->session = TRY(std::move(session));
  use_cached_sources(attached->sources, *attached->session);
  attached->took = Deadline::Clock::now() - started;
  if (!rank) {
    if (const auto own = rank_of_process(pid); own && !own->child) {
      attached->rank = own->rank;
    }
  }
  return attached;
}

// The process of that rank, which is attached then.
Result<int> AttachedRanks::go_to(int from, int rank) {
  const JobOptions where{fmt::format("{}", from), fmt::format("{}", rank)};
  AttachedRank* const known = find_rank(rank);
  const int pid =
      known != nullptr && known->session->alive()
          ? known->pid
          : TRY(choose_ranks(where, options_.deadline())).ranks.front().pid;
  const auto found = all_.find(pid);
  AttachedRank* const there =
      found == all_.end() ? nullptr : found->second.get();
  if (there != nullptr && there->session->alive() && there->state) {
    const Interruptible interruptible(*there->session);
    if (there->state->unseen.empty()) {
      show_place(*there->state);
    } else {
      TRY(await_stop(*there->state, std::nullopt));
    }
  } else {
    // Neither thread nor frame that were asked for need to be in this one.
    TRY(open(pid, rank, {}));
  }
  return pid;
}

namespace {

Session::Hooks hooks_of(AttachedRank& rank,
                        const Palette& out,
                        const Palette& err,
                        BreakEvents* const& events) {
  Session::Hooks hooks = show_on_terminal(err);
  hooks.on_event = [&rank, &out, &events,
                    show = std::move(hooks.on_event)](const dap::Event& event) {
    // A breakpoint's message; what an expression prints is shown as it comes.
    const auto said = dap::body_of<dap::Output>(event);
    if (rank.rank && event.event == dap::Output::event && said &&
        said->category == "console") {
      if (events != nullptr) {
        events->log(*rank.rank, said->output);
        return true;
      }
      print_now(stdout, rank_prefix(*rank.rank, out) + " ");
      print_foreign(stdout, said->output);
      return true;
    }
    return show(event);
  };
  return hooks;
}

// Until one of them leaves.
int run_in_turn(PromptState& state, std::deque<std::string>& commands) {
  int code = 0;
  while (!commands.empty() && !state.leaving && state.session.alive() &&
         code != exit_code(ErrorId::Interrupted)) {
    const std::string command = std::move(commands.front());
    commands.pop_front();
    code = run_commands(state, {command});
  }
  return code;
}

// Of a thread that has called for a debugger (python/hangdbg), if there is one.
Result<std::optional<Stop>> stop_of_waiting(Session& session,
                                            Deadline deadline) {
  if (!TRY(session.hello(deadline)).waits) {
    return std::nullopt;
  }
  TRY(take_waiting(session, deadline));
  for (;;) {
    auto stop = TRY(next_stop(session, deadline));
    if (!stop || !stop->goes_on) {
      return stop;
    }
  }
}

Status show_banner(AttachedRank& rank) {
  PromptState& state = *rank.state;
  Session& session = state.session;
  const auto hello = TRY(session.hello(state.deadline()));
  const bool interactive =
      ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  const ShownThread& thread = state.place.thread();
  const bool stands = state.held.contains(thread.tid);
  say("{} {} (python {}) in {} · {}{}\n",
      session.is_outside() ? "looking at" : "attached to", hello.pid,
      printable(hello.python), human_duration(rank.took),
      stands                 ? "it was waiting for a debugger"
      : session.is_outside() ? "nothing was entered"
                             : "nothing is stopped",
      interactive ? " · Ctrl-D detaches" : "");
  flush_output(stdout);  // the next line may take a moment
  const auto look = rank.before.find(thread.tid);
  const std::string wait =
      stands
          ? rank.raised.empty() ? "stands" : "stands: " + printable(rank.raised)
          : describe_wait(session, thread.tid,
                          look == rank.before.end()
                              ? std::nullopt
                              : std::optional(look->second),
                          state.deadline());
  const auto gil = session.gil();
  say("Thread {} \"{}\" {} · {}\n", thread.tid, printable(thread.name), wait,
      gil && !gil->enabled ? "no GIL"
      : gil && gil->locked ? "GIL held"
                           : "GIL free");
  show_place(state);
  say_if_read_only(state);
  flush_output(stdout);
  return {};
}

}  // namespace
}  // namespace hangdbg
