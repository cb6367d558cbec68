// The other ranks of the job: rank N, ranks.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/parallel_map.h"
#include "base/text.h"
#include "client/prompt/attached_ranks.h"
#include "client/prompt/breaks.h"
#include "client/prompt/command.h"
#include "client/prompt/prompt.h"
#include "client/prompt/together.h"
#include "client/terminal/typed.h"
#include "inspector/jobs/choice.h"
#include "inspector/snapshot/process_dump.h"

namespace hangdbg {
namespace {

Status show_ranks(PromptState& state);
Status run_in_ranks(PromptState& state, std::string_view argument);
bool is_named(std::string_view command,
              std::initializer_list<std::string_view> names);

// That of the process that the prompt is in.
Result<Job> job_here(const PromptState& state) {
  const int pid = state.session.target().pid;
  auto found = TRY(find_jobs(state.deadline()));
  for (Job& job : found.jobs) {
    if (job.find(pid) != nullptr) {
      return std::move(job);
    }
  }
  return fail(ErrorId::Usage,
              fmt::format("process {} belongs to no known job", pid),
              "hangdbg ps");
}

// Where its main thread is, and what it waits for.
Result<std::string> whereabouts(int pid) {
  const PythonProcess process = TRY(open_python(pid));
  const DumpedThread main =
      TRY(dump_thread(LiveTarget(process), pid, {.may_stop = false}));
  // On top of one that is held is the agent.
  const auto& frames = main.stack.frames;
  const auto own = frames.begin() +
                   static_cast<std::ptrdiff_t>(count_frames_of_agent(frames));
  if (own == frames.end()) {
    return main.state;
  }
  const PythonFrame& frame = *own;
  return fmt::format("{}  {}",
                     listed_frame(frame.qualname, frame.file, frame.line, false,
                                  Palette(ColourChoice::Never, stdout)),
                     own == frames.begin() ? main.state : "held");
}

// Where each is; with a set of them and a command: that, in each.
Status ranks(PromptState& state, std::string_view argument) {
  return argument.empty() ? show_ranks(state) : run_in_ranks(state, argument);
}

Status show_ranks(PromptState& state) {
  const Job job = TRY(job_here(state));
  say("{}\n", job_text(job));
  for (const std::string& finding : findings(job)) {
    say("{}\n", state.out.red(finding));
  }
  std::vector<int> pids;
  std::ranges::transform(job.ranks, std::back_inserter(pids), &JobRank::pid);
  const bool all = parallel_map<std::string>(
      pids, state.deadline(), whereabouts,
      [&](int pid, std::optional<Result<std::string>> where) {
        const bool here = pid == state.session.target().pid;
        say("{} {:>4}  {:>7}  {}\n", here ? state.out.green("->") : "  ",
            job.find(pid)->rank, pid,
            !where   ? "timeout"
            : *where ? printable(**where)
                     : printable(where->error().text()));
      });
  return all ? Status()
             : fail(ErrorId::TimedOut, "timeout while reading some ranks",
                    "hangdbg ps");
}

Status run_in_ranks(PromptState& state, std::string_view argument) {
  const auto words = split_words(argument);
  const std::string_view command = trim(argument.substr(words.front().size()));
  const RankChoice choice = TRY(RankChoice::parse(words.front()));
  if (state.others == nullptr || command.empty()) {
    return fail(ErrorId::Usage, "ranks needs a set of ranks and a command",
                "ranks 0,3 p step");
  }
  const Job job = TRY(job_here(state));
  std::vector<JobRank> wanted;
  std::ranges::copy_if(
      job.ranks, std::back_inserter(wanted),
      [&](const JobRank& one) { return choice.includes(one.rank); });
  if (wanted.empty()) {
    return fail(ErrorId::Usage, fmt::format("no such rank: {}", words.front()),
                "ranks");
  }
  const bool breaks =
      is_named(command, {"b", "break", "tbreak", "hold", "s", "step", "n",
                         "next", "r", "return", "unt", "until", "watch", "j",
                         "jump", "debug", "raise"});
  if (is_named(command, {"q", "quit", "exit", "detach", "rank", "ranks",
                         "interact", "commands"})) {
    return fail(ErrorId::Usage, "not available for several ranks at once",
                "ranks 0,3 p step");
  }
  if (breaks && state.others->timer() == nullptr) {
    // Those that are not meant wait for these, too.
    TRY(make_safe_to_hold(*state.others, job, kHoldFor, state.deadline()));
  }
  std::vector<AttachedRank*> there;
  for (const JobRank& rank : wanted) {
    there.push_back(TRY(state.others->join(rank)));
  }
  const int code = run_together(there, std::string(command));
  return code == 0 ? Status()
                   : fail(ErrorId::ExpressionFailed,
                          "failed in some ranks, see above");
}

Status go_to_rank(PromptState& state, std::string_view argument) {
  const auto rank = parse_number<int>(argument);
  if (!rank) {
    return fail(ErrorId::Usage, "rank needs the number of a rank", "ranks");
  }
  const Job job = TRY(job_here(state));
  const auto found = std::ranges::find(job.ranks, *rank, &JobRank::rank);
  if (found == job.ranks.end()) {
    // Of a prompt that another machine has opened: it may be on another node.
    const auto& typed = typed_words();
    return fail(ErrorId::Usage, fmt::format("rank {} is not here", *rank),
                std::ranges::find(typed, "--via") == typed.end()
                    ? "ranks"
                    : typed_with("--ranks", fmt::format("{}", *rank)));
  }
  if (found->pid != state.session.target().pid) {
    state.go_to = rank;
    state.leaving = true;
  }
  return {};
}

bool is_named(std::string_view command,
              std::initializer_list<std::string_view> names) {
  return std::ranges::count(names, command.substr(0, command.find(' '))) > 0;
}

}  // namespace

std::span<const Command> rank_commands() {
  static const std::array<Command, 2> commands = {
      Command{{"ranks"},
              "[SET command]",
              "List the ranks of this job; or run a command in several: ranks "
              "0,3 p step.",
              ranks},
      Command{{"rank"},
              "N",
              "Switch to another rank; suspended threads and breakpoints here "
              "stay.",
              go_to_rank},
  };
  return commands;
}

}  // namespace hangdbg
