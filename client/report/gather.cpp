#include "client/report/gather.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text.h"
#include "client/ranks/each_rank.h"
#include "protocol/json.h"
#include "protocol/reports/error.h"

namespace hangdbg {
namespace {

// What one run is to print.
enum class Form { Text, Json };

constexpr std::string_view kOwnError = "hangdbg: ";

struct PartRun {
  const ReportPart& part;
  Form form;
};

// Whether there was an answer of all in time.
Result<bool> make(const PartRun& run,
                  const ReportedProcesses& whose,
                  Deadline deadline,
                  Gathered& into);
std::vector<std::string> words_of(const PartRun& run,
                                  const ReportedProcesses& whose,
                                  const JobRank& one);
void take(const PartRun& run,
          const std::vector<std::string>& words,
          const RankOutput& output,
          Gathered& into);
std::optional<std::string> failure_of(const ReportPart& part,
                                      const RankOutput& output);
std::optional<reports::ReportedError> error_alone(const Json& json);
std::string first_error(std::string_view err);
void add_missing(MissingPart missing, Gathered& into);

}  // namespace

Result<Gathered> gather(
    const ReportedProcesses& whose,
    const std::vector<ReportPart>& parts,
    Deadline deadline,
    const std::function<void(const ReportPart& part,
                             std::size_t number,
                             std::size_t count)>& progress) {
  Gathered gathered;
  std::vector<const ReportPart*> wanted;
  for (const ReportPart& part : parts) {
    if (whose.job || !part.of_jobs_only) {
      wanted.push_back(&part);
    }
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const ReportPart& part = *wanted[i];
    progress(part, i + 1, wanted.size());
    const bool in_time =
        !part.text || TRY(make({part, Form::Text}, whose, deadline, gathered));
    if (part.json && in_time) {  // or it would be waited for once more
      TRY(make({part, Form::Json}, whose, deadline, gathered));
    }
  }
  return gathered;
}

namespace {

Result<bool> make(const PartRun& run,
                  const ReportedProcesses& whose,
                  Deadline deadline,
                  Gathered& into) {
  const ReportPart& part = run.part;
  if (deadline.expired()) {
    add_missing({part.name, {}, "timeout before it started"}, into);
    return false;
  }
  const Deadline own = deadline.capped(part.limit);
  const double seconds = std::chrono::duration<double>(own.left()).count();
  const auto words = [&](const JobRank& one) {
    auto all = words_of(run, whose, one);
    all.insert(all.end(), {fmt::format("--timeout={:.3f}", seconds),
                           "--color=never", "--log=all:debug"});
    return all;
  };
  const std::vector<JobRank> one = {whose.processes.front()};
  const auto outputs = TRY(
      run_for_each(part.of == PartOf::All ? one : whose.processes, words, own));
  for (const RankOutput& output : outputs) {
    if (output.gave_up == ErrorId::Interrupted ||
        output.code == exit_code(ErrorId::Interrupted)) {
      return fail(ErrorId::Interrupted, "interrupted: nothing was written");
    }
    take(run, words_of(run, whose, output.rank), output, into);
  }
  return std::ranges::none_of(outputs, [](const RankOutput& output) {
    return output.gave_up.has_value();
  });
}

// As one would type it.
std::vector<std::string> words_of(const PartRun& run,
                                  const ReportedProcesses& whose,
                                  const JobRank& one) {
  std::vector<std::string> words = run.part.words;
  if (run.part.of == PartOf::Each) {
    words.push_back(fmt::format("{}", one.pid));
  } else if (whose.job) {
    RankSet ranks;
    for (const JobRank& rank : whose.processes) {
      ranks.add(rank.rank);
    }
    words.insert(words.end(), {"--job", whose.job->id, "--ranks",
                               ranks.text(whose.processes.size())});
  } else {
    for (const JobRank& process : whose.processes) {
      words.push_back(fmt::format("{}", process.pid));
    }
  }
  if (run.form == Form::Json) {
    words.emplace_back("--json");
  }
  return words;
}

void take(const PartRun& run,
          const std::vector<std::string>& words,
          const RankOutput& output,
          Gathered& into) {
  const ReportPart& part = run.part;
  const std::optional<int> pid =
      part.of == PartOf::Each ? std::optional(output.rank.pid) : std::nullopt;
  const std::string command = "hangdbg " + shell_quote(words);
  into.log += fmt::format("==== {}: {}\n{}", command, output.code, output.err);
  const auto miss = [&](std::string why) {
    add_missing({part.name, pid, std::move(why), output.code}, into);
  };
  if (auto why = failure_of(part, output)) {
    miss(*std::move(why));
  }
  if (output.out.empty()) {
    return;
  }
  if (run.form == Form::Text) {
    into.texts.push_back(
        {.file = (pid ? fmt::format("{}-{}", part.name, *pid) : part.name) +
                 std::string(part.file_type),
         .what = part.what,
         .command = command,
         .text = output.out});
  } else if (auto json = Json::parse(output.out)) {
    if (!error_alone(*json)) {
      into.documents.push_back({part.name, pid, *std::move(json)});
    }
  } else if (output.code == 0) {
    miss("invalid JSON: " + json.error().text());
  }
}

std::optional<std::string> failure_of(const ReportPart& part,
                                      const RankOutput& output) {
  if (output.gave_up) {
    return "no answer in time";
  }
  if (output.code == 0 || (part.code_is_answer && !output.out.empty())) {
    return output.out.empty() ? std::optional<std::string>("no output")
                              : std::nullopt;
  }
  if (const auto json = Json::parse(output.out)) {
    if (auto error = error_alone(*json)) {
      return std::move(error->message);
    }
  }
  std::string why = first_error(output.err);
  return why.empty() ? fmt::format("exit code {}", output.code) : why;
}

// With --json that is all there is of a part that has no answer.
std::optional<reports::ReportedError> error_alone(const Json& json) {
  const auto none = decode<reports::NoAnswer>(json);
  return none ? std::optional(none->error) : std::nullopt;
}

// Among the lines of the log.
std::string first_error(std::string_view err) {
  for (const std::string_view line : split(err, '\n')) {
    if (line.starts_with(kOwnError)) {
      return std::string(line.substr(kOwnError.size()));
    }
  }
  return {};
}

// Both forms may fail: it is said once.
void add_missing(MissingPart missing, Gathered& into) {
  const bool known =
      std::ranges::any_of(into.missing, [&](const MissingPart& one) {
        return one.part == missing.part && (!one.pid || one.pid == missing.pid);
      });
  if (!known) {
    into.missing.push_back(std::move(missing));
  }
}

}  // namespace
}  // namespace hangdbg
