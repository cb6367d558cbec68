#include "client/ranks/answers.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/host_name.h"
#include "base/text.h"
#include "client/ranks/each_rank.h"
#include "client/terminal/render.h"
#include "inspector/jobs/choice.h"
#include "protocol/json.h"
#include "protocol/reports/answers.h"
#include "protocol/reports/error.h"

namespace hangdbg {
namespace {

struct Told {
  std::string text;
  bool failed = false;
  auto operator<=>(const Told&) const = default;
};

std::vector<std::string> words_of(const char* command,
                                  const Question& question,
                                  int pid);
Json json_of(const RankOutput& output);
Told told_by(const Json& json);
void show(const std::vector<std::pair<Told, RankSet>>& told,
          const Question& question);

}  // namespace

Result<int> ask_ranks(const char* command, const Question& question) {
  TRY(question.common.configure_log());
  if (question.expression().empty() || !question.second.empty() ||
      !question.pid().empty()) {
    return fail(
        ErrorId::Usage,
        fmt::format("with --job, {} takes one expression and no PID", command),
        fmt::format(
            "hangdbg {} --job {} EXPR", command,
            shell_quote(question.job.job.empty() ? "auto" : question.job.job)));
  }
  const ChosenRanks chosen =
      TRY(choose_ranks(question.job, question.common.deadline()));
  const auto outputs = TRY(run_for_each(
      chosen.ranks,
      [&](const JobRank& rank) {
        return words_of(command, question, rank.pid);
      },
      question.common.deadline()));
  reports::RankAnswers all{.job = chosen.job.id,
                           .answers = {},
                           .missing = chosen.job.missing.numbers()};
  std::vector<std::pair<Told, RankSet>> told;
  for (const RankOutput& output : outputs) {
    all.answers.push_back(json_of(output));
    const Told one = told_by(all.answers.back());
    auto known = std::ranges::find(told, one, &std::pair<Told, RankSet>::first);
    if (known == told.end()) {
      known = told.insert(known, {one, {}});
    }
    known->second.add(output.rank.rank);
  }
  const Palette err(question.common.colour, stderr);
  if (question.common.json) {
    print_json(encode(all));
  } else {
    for (const std::string& finding : findings(chosen.job)) {
      say(stderr, "{}\n", err.red(finding));
    }
    show(told, question);
  }
  if (!chosen.absent.empty()) {
    report({.id = ErrorId::NoSuchProcess,
            .message = fmt::format("rank {} is not here", chosen.absent.text()),
            .hint = "hangdbg ps --job " + shell_quote(chosen.job.id)},
           err);
  }
  return code_of(outputs, !chosen.absent.empty());
}

namespace {

std::vector<std::string> words_of(const char* command,
                                  const Question& question,
                                  int pid) {
  std::vector<std::string> words = {
      command, "--json", "--timeout",
      fmt::format("{}", question.common.timeout_s),
      // Where they diverge, the same number is another function in each.
      "--frame",
      question.place.frame.is_given() ? question.place.frame.text()
                                      : FrameSelector::own().text()};
  if (!question.place.thread.empty()) {
    words.insert(words.end(), {"--thread", question.place.thread});
  }
  if (question.keep) {
    words.push_back("--keep");
  }
  if (!question.common.log.empty()) {
    words.push_back("--log=" + question.common.log);
  }
  words.insert(words.end(),
               {fmt::format("{}", pid), "--", question.expression()});
  return words;
}

Json json_of(const RankOutput& output) {
  if (auto json = Json::parse(output.out); json && !output.gave_up) {
    return *std::move(json);
  }
  reports::RankFailure failure{.pid = output.rank.pid,
                               .rank = output.rank.rank,
                               .host = host_name(),
                               .error = {}};
  failure.error.type = error_name(output.gave_up.value_or(ErrorId::System));
  failure.error.message =
      output.gave_up ? std::string(no_answer(output))
                     : fmt::format("no answer (exit code {}): {}", output.code,
                                   printable(trim(output.err)));
  return encode(failure);
}

Told told_by(const Json& json) {
  const auto answer = decode<reports::RankAnswer>(json);
  if (!answer) {
    return {answer.error().text(), true};
  }
  std::string text = answer->output.value_or("");
  if (answer->error) {
    // The names of our own errors say no more than their texts.
    const auto& [type, message, hint] = *answer->error;
    const bool ours = !type.empty() && type[0] >= 'a' && type[0] <= 'z';
    text += message.empty() ? type : ours ? message : type + ": " + message;
    if (hint && !hint->empty()) {
      text += "\ntry: " + *hint;
    }
    return {std::move(text), true};
  }
  text += answer->repr.value_or("");
  return {std::move(text), false};
}

// The answers first, then what went wrong.
void show(const std::vector<std::pair<Told, RankSet>>& told,
          const Question& question) {
  const Palette out(question.common.colour, stdout);
  const Palette err(question.common.colour, stderr);
  for (const bool failed : {false, true}) {
    std::FILE* const stream = failed ? stderr : stdout;
    const Palette& palette = failed ? err : out;
    for (const auto& [one, ranks] : told) {
      if (one.failed != failed) {
        continue;
      }
      const std::string prefix =
          palette.bold(fmt::format("[{}:{}]", host_name(), ranks.text(12)));
      for (const std::string_view line : split(one.text, '\n')) {
        print_now(stream, fmt::format("{} {}\n", prefix, foreign(line)));
      }
    }
  }
}

}  // namespace
}  // namespace hangdbg
