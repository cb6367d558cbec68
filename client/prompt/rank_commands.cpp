// The other ranks of the job: rank N, ranks.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/in_parallel.h"
#include "base/text.h"
#include "client/prompt/command.h"
#include "client/prompt/prompt.h"
#include "client/ranks/choice.h"
#include "inspector/process_dump.h"

namespace hangdbg {
namespace {

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
              fmt::format("process {} is of no job that is to be seen", pid),
              "hangdbg ps");
}

// Where its main thread is, and what it waits for.
Result<std::string> whereabouts(int pid) {
  const InspectedProcess process = TRY(open_process(pid));
  const DumpedThread main =
      TRY(dump_thread(LiveSubject(process), pid, {.may_stop = false}));
  if (main.stack.frames.empty()) {
    return main.state;
  }
  const PythonFrame& frame = main.stack.frames.front();
  return fmt::format("{}  {}",
                     listed_frame(frame.qualname, frame.file, frame.line, false,
                                  Palette(ColourChoice::Never, stdout)),
                     main.state);
}

Status show_ranks(PromptState& state, std::string_view) {
  const Job job = TRY(job_here(state));
  fmt::print("{}\n", job_text(job));
  for (const std::string& finding : findings(job)) {
    fmt::print("{}\n", state.out.red(finding));
  }
  std::vector<int> pids;
  std::ranges::transform(job.ranks, std::back_inserter(pids), &JobRank::pid);
  const bool all = in_parallel<std::string>(
      pids, state.deadline(), whereabouts,
      [&](int pid, std::optional<Result<std::string>> where) {
        const bool here = pid == state.session.target().pid;
        fmt::print("{} {:>4}  {:>7}  {}\n", here ? state.out.green("->") : "  ",
                   job.find(pid)->rank, pid,
                   !where   ? "no answer in time"
                   : *where ? printable(**where)
                            : printable(where->error().text()));
      });
  return all ? Status()
             : fail(ErrorId::TimedOut, "some could not be read in time",
                    "hangdbg ps");
}

Status go_to_rank(PromptState& state, std::string_view argument) {
  const auto rank = parse_number<int>(argument);
  if (!rank) {
    return fail(ErrorId::Usage, "rank wants the number of a rank", "ranks");
  }
  const Job job = TRY(job_here(state));
  const auto found = std::ranges::find(job.ranks, *rank, &JobRank::rank);
  if (found == job.ranks.end()) {
    return fail(ErrorId::Usage, fmt::format("rank {} is not here", *rank),
                "ranks");
  }
  if (found->pid != state.session.target().pid) {
    state.go_to = rank;
    state.leaving = true;
  }
  return {};
}

}  // namespace

std::span<const Command> rank_commands() {
  static const std::array<Command, 2> commands = {
      Command{{"ranks"},
              "",
              "The ranks of this job, and where each stands.",
              show_ranks},
      Command{{"rank"},
              "N",
              "Goes to that rank; what is held or set here stays.",
              go_to_rank},
  };
  return commands;
}

}  // namespace hangdbg
