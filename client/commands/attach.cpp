#include "client/commands/attach.h"

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/in_parallel.h"
#include "base/text.h"
#include "client/interrupt.h"
#include "client/only_hung.h"
#include "client/prompt/prompt.h"
#include "client/prompt_options.h"
#include "client/ranks/choice.h"
#include "client/ranks/each_rank.h"
#include "client/session_output.h"
#include "inspector/stack_tree.h"
#include "server/hold.h"
#include "server/hung_thread.h"
#include "server/session.h"

namespace hangdbg {
namespace {

struct Options {
  CommonOptions common;
  TargetOption target;
  JobOptions job;
  PromptOptions prompt;
};

// A process that the prompt has been in, or is.
struct Attached {
  SourceText sources;
  ThreadLooks before;  // since an attach wakes the thread that it borrows
  std::unique_ptr<Session> session = {};
  std::optional<PromptState> state = {};
};

int run(const Options& options);
Result<int> attach(const Options& options);
Result<int> attach_each(const Options& options, const ChosenRanks& chosen);
Result<int> prompt_odd_rank(const Options& options, const ChosenRanks& chosen);
std::optional<int> odd_rank(const ChosenRanks& chosen, Deadline deadline);
Result<int> prompt(const Options& options, int pid, std::optional<int> rank);
int run_in_turn(PromptState& state, std::deque<std::string>& commands);
Result<int> go_to(const Options& options,
                  std::map<int, std::unique_ptr<Attached>>& all,
                  int from,
                  int rank,
                  const Palette& out,
                  const Palette& err);
Result<std::unique_ptr<Attached>> open(const Options& options,
                                       const PlaceOptions& place,
                                       int pid,
                                       std::optional<int> rank,
                                       const Palette& out,
                                       const Palette& err);
Result<std::optional<Stop>> stop_of_waiting(Session& session,
                                            Deadline deadline);
Status show_banner(PromptState& state,
                   const ThreadLooks& before,
                   std::chrono::nanoseconds took);

}  // namespace

void add_attach(CLI::App& app, Run& chosen) {
  const auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand(
      "attach", "A prompt in the hung frame, with pdb's commands");
  add_pid_option(command, options->target);
  add_job_options(command, options->job);
  add_prompt_options(command, options->prompt);
  add_common_options(command, options->common);
  command.footer(
      "Nothing is stopped: an expression runs beside the program, on a thread "
      "of its own.\n"
      "Without a PID the only job here is meant, or the only process that "
      "hangs. Of a job\n"
      "the prompt begins in the odd rank; with -c each rank is asked.\n"
      "Examples:\n"
      "  hangdbg attach 79655\n"
      "  hangdbg attach 79655 -c w -c 'p self.lock_file_path'\n"
      "  hangdbg attach --job auto --ranks 3");
  command.final_callback(
      [options, &chosen] { chosen = [options] { return run(*options); }; });
}

namespace {

int run(const Options& options) {
  const auto code = attach(options);
  return code ? *code
              : report(code.error(), Palette(options.common.colour, stderr));
}

Result<int> attach(const Options& options) {
  TRY(options.common.configure_log());
  const std::string& word = options.target.flag.empty()
                                ? options.target.positional
                                : options.target.flag;
  if (options.job.given() && !word.empty()) {
    return fail(ErrorId::Usage, "either a process is named, or a job is",
                "hangdbg attach --help");
  }
  const Deadline deadline = options.common.deadline();
  const auto chosen =
      options.job.given()
          ? std::optional(TRY(choose_ranks(options.job, deadline)))
      : word.empty() ? only_job(deadline)
                     : std::nullopt;
  if (chosen) {
    return chosen->ranks.size() > 1 && !options.prompt.commands.empty()
               ? attach_each(options, *chosen)
               : prompt_odd_rank(options, *chosen);
  }
  const int pid = word.empty()
                      ? TRY(only_hung_process(options.common.deadline()))
                      : TRY(parse_pid(word));
  return prompt(options, pid, std::nullopt);
}

Result<int> attach_each(const Options& options, const ChosenRanks& chosen) {
  const auto outputs = TRY(run_for_each(
      chosen.ranks,
      [&](const JobRank& rank) {
        const PlaceOptions& place = options.prompt.place;
        std::vector<std::string> words = {
            "attach",    fmt::format("{}", rank.pid),
            "--timeout", fmt::format("{}", options.common.timeout_s),
            "--frame",   place.frame.text()};
        if (!place.thread.empty()) {
          words.push_back("--thread=" + place.thread);
        }
        for (const std::string& command : options.prompt.commands) {
          words.insert(words.end(), {"-c", command});
        }
        return words;
      },
      // Each command has a time of its own.
      Deadline::in(options.common.deadline().left() *
                   options.prompt.commands.size())));
  for (const RankOutput& output : outputs) {
    show_output(output, options.common.colour);
  }
  return code_of(outputs, !chosen.absent.empty());
}

Result<int> prompt_odd_rank(const Options& options, const ChosenRanks& chosen) {
  const auto odd = odd_rank(chosen, options.common.deadline());
  const int rank = odd.value_or(chosen.ranks.front().rank);
  fmt::print(stderr, "rank {} of {}{}\n", rank, job_text(chosen.job),
             odd ? ", which is elsewhere than most are" : "");
  const auto found = std::ranges::find(chosen.ranks, rank, &JobRank::rank);
  return prompt(options, found->pid, rank);
}

// Nothing if there is but one to choose, or none is odd.
std::optional<int> odd_rank(const ChosenRanks& chosen, Deadline deadline) {
  std::vector<int> pids;
  std::ranges::transform(chosen.ranks, std::back_inserter(pids), &JobRank::pid);
  std::vector<ProcessDump> dumps;
  if (pids.size() > 1) {
    in_parallel<ProcessDump>(
        pids, deadline,
        [](int pid) -> Result<ProcessDump> {
          const InspectedProcess process = TRY(open_process(pid));
          return dump_process(LiveSubject(process), {.may_stop = false});
        },
        [&](int pid, std::optional<Result<ProcessDump>> dump) {
          if (dump && *dump) {
            (*dump)->rank = {chosen.job.find(pid)->rank};
            dumps.push_back(**std::move(dump));
          }
        });
  }
  const StackTree tree =
      merge_dumps(dumps, [](const ProcessDump& one) { return one.rank->rank; });
  return tree.odd.empty()
             ? std::nullopt
             : std::optional(tree.odd.front().here.members.ranges()[0].first);
}

// From rank to rank, as it is asked to go; those that it leaves stay attached.
Result<int> prompt(const Options& options, int pid, std::optional<int> rank) {
  const Palette out(options.common.colour, stdout);
  const Palette err(options.common.colour, stderr);
  std::map<int, std::unique_ptr<Attached>> all;
  all[pid] = TRY(open(options, options.prompt.place, pid, rank, out, err));
  std::deque<std::string> commands(options.prompt.commands.begin(),
                                   options.prompt.commands.end());
  const bool reads = commands.empty();
  for (;;) {
    PromptState& state = *all[pid]->state;
    int code = 0;
    {
      const Interruptible interruptible(*all[pid]->session);
      code = reads ? run_prompt(state) : run_in_turn(state, commands);
    }
    if (!state.go_to) {
      return code;
    }
    const int to = *std::exchange(state.go_to, std::nullopt);
    state.leaving = false;
    const auto next = go_to(options, all, pid, to, out, err);
    if (next) {
      pid = *next;
    } else {
      report(next.error(), err);
      if (!reads) {
        return exit_code(next.error().id);
      }
    }
  }
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

// The process of that rank, which is attached then.
Result<int> go_to(const Options& options,
                  std::map<int, std::unique_ptr<Attached>>& all,
                  int from,
                  int rank,
                  const Palette& out,
                  const Palette& err) {
  const JobOptions where{fmt::format("{}", from), fmt::format("{}", rank)};
  const int pid =
      TRY(choose_ranks(where, options.common.deadline())).ranks.front().pid;
  if (all.contains(pid) && all[pid]->session->alive()) {
    const Interruptible interruptible(*all[pid]->session);
    show_place(*all[pid]->state);
  } else {
    // Neither thread nor frame that were asked for need to be in this one.
    all[pid] = TRY(open(options, {}, pid, rank, out, err));
  }
  return pid;
}

Result<std::unique_ptr<Attached>> open(const Options& options,
                                       const PlaceOptions& place,
                                       int pid,
                                       std::optional<int> rank,
                                       const Palette& out,
                                       const Palette& err) {
  auto attached = std::make_unique<Attached>(
      Attached{SourceText(pid), look_at_threads(pid)});
  const auto started = Deadline::Clock::now();
  const Deadline deadline = options.common.deadline();
  attached->session =
      TRY(Session::attach(pid, show_on_terminal(err), deadline));
  const auto took = Deadline::Clock::now() - started;
  Session& session = *attached->session;

  const Interruptible interruptible(session);
  const auto stop = TRY(stop_of_waiting(session, deadline));
  auto thread = TRY(choose_thread(
      session, stop ? fmt::format("{}", stop->tid) : place.thread, deadline));
  PromptState& state = attached->state.emplace(
      PromptState{session, attached->sources, options.common, out, err,
                  TRY(Place::at(std::move(thread), place.frame))});
  state.rank = rank;
  if (stop) {
    state.held.insert(stop->tid);
  }
  TRY(show_banner(state, attached->before, took));
  return attached;
}

// Of a thread that has called for a debugger (python/hangdbg), if there is one.
Result<std::optional<Stop>> stop_of_waiting(Session& session,
                                            Deadline deadline) {
  if (!TRY(session.hello(deadline)).waits) {
    return std::nullopt;
  }
  TRY(take_waiting(session, deadline));
  return next_stop(session, deadline);
}

Status show_banner(PromptState& state,
                   const ThreadLooks& before,
                   std::chrono::nanoseconds took) {
  Session& session = state.session;
  const auto hello = TRY(session.hello(state.deadline()));
  const bool interactive =
      ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  const ShownThread& thread = state.place.thread();
  const bool stands = state.held.contains(thread.tid);
  fmt::print("attached to {} (python {}) in {} · {}{}\n", hello.pid,
             printable(hello.python), human_duration(took),
             stands ? "it has waited for you" : "nothing is stopped",
             interactive ? " · Ctrl-D detaches" : "");
  std::fflush(stdout);  // the next line may take a moment
  const auto look = before.find(thread.tid);
  const std::string wait =
      stands ? "stands"
             : describe_wait(session, thread.tid,
                             look == before.end() ? std::nullopt
                                                  : std::optional(look->second),
                             state.deadline());
  const auto gil = session.gil();
  fmt::print("Thread {} \"{}\" {} · {}\n", thread.tid, printable(thread.name),
             wait,
             gil && !gil->enabled ? "no GIL"
             : gil && gil->locked ? "GIL held"
                                  : "GIL free");
  show_place(state);
  say_if_read_only(state);
  std::fflush(stdout);
  return {};
}

}  // namespace
}  // namespace hangdbg
