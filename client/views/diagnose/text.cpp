#include "client/views/diagnose/text.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "client/views/diagnose/verdict.h"
#include "diagnosis/waits/rank_words.h"
#include "inspector/jobs/choice.h"

namespace hangdbg {
namespace {

std::string headline(const std::string& whose,
                     const std::string& verdict,
                     bool hung,
                     const Palette& out);
std::string details(const Cause& cause,
                    const std::vector<std::string>& skipped,
                    const Palette& out);
std::string chain_text(const Diagnosis& found, const std::string& indent);
std::string sure(const Cause& cause, const Palette& out);
std::string alike_text(const AlikeRanks& alike);
std::string around_lines(const std::string& heading,
                         const Diagnosis& found,
                         const Palette& out);
bool same_answer(const Diagnosis& one, const Diagnosis& other);

}  // namespace

std::string diagnosis_text(const Diagnosis& found, const Palette& out) {
  std::string text =
      headline(found.title, verdict_line(found), found.hung(), out) +
      sure(found.cause, out);
  if (found.chain.size() > 1) {
    text += out.bold("wait-for graph") + "\n" + chain_text(found, "  ");
  } else {
    text += fmt::format("  {} · {}\n", found.chain[0].doing,
                        printable(found.chain[0].place));
  }
  text += out.bold("evidence") + "\n";
  for (const std::string& evidence : found.cause.evidence) {
    text += fmt::format("  {}\n", printable(evidence));
  }
  for (const WaitEdge& link : found.also) {
    text += fmt::format("also: {}\n",
                        printable(link.who + " " + link.cause.summary));
  }
  return text + around_lines("around", found, out) +
         details(found.cause, found.skipped, out);
}

std::string job_diagnosis_text(const JobDiagnosis& found,
                               const RankSet& shown,
                               const Palette& out) {
  std::string text =
      headline(job_text(found.job), verdict_line(found), found.hung, out) +
      sure(found.cause, out) + out.bold("merged stacks") + "\n";
  for (const AlikeRanks& alike : found.alike(shown)) {
    text += alike_text(alike);
  }
  for (const RankDiagnosis& rank : found.ranks) {
    if (!rank.found && shown.contains(rank.rank)) {
      text += fmt::format("  rank {} (process {}): {}\n", rank.rank, rank.pid,
                          rank.found.error().text());
    }
  }
  if (found.launcher) {
    text += fmt::format(
        "  the launcher, {}\n    {} · {}\n",
        printable(found.launcher->who + ", " + found.launcher->cause.summary),
        found.launcher->doing, printable(found.launcher->place));
  }
  if (!found.cause.evidence.empty()) {
    text += out.bold("evidence") + "\n";
  }
  for (const std::string& evidence : found.cause.evidence) {
    text += fmt::format("  {}\n", printable(evidence));
  }
  for (const RankDiagnosis& rank : found.ranks) {
    if (found.odd.contains(rank.rank) && rank.found) {
      text += around_lines(fmt::format("around rank {}", rank.rank),
                           *rank.found, out);
    }
  }
  if (!found.differences.empty()) {
    text += out.bold("machines differ") + "\n";
  }
  for (const std::string& one : found.differences) {
    text += fmt::format("  {}\n", printable(one));
  }
  return text + details(found.cause, found.skipped, out);
}

std::string diagnoses_text(const std::vector<ProcessDiagnosis>& all,
                           const Palette& out) {
  std::string text;
  std::vector<bool> said(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].found || said[i]) {
      continue;
    }
    text += (text.empty() ? "" : "\n") + diagnosis_text(*all[i].found, out);
    std::string others;
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      if (all[j].found && same_answer(*all[i].found, *all[j].found)) {
        said[j] = true;
        others += fmt::format("{}{}", others.empty() ? "" : ", ", all[j].pid);
      }
    }
    if (!others.empty()) {
      text += fmt::format("the same: {}\n", others);
    }
  }
  return text;
}

namespace {

std::string headline(const std::string& whose,
                     const std::string& verdict,
                     bool hung,
                     const Palette& out) {
  const std::string head = printable(whose + " " + verdict);
  return (hung ? out.red(head) : out.bold(head)) + "\n";
}

std::string sure(const Cause& cause, const Palette& out) {
  return out.dim(fmt::format("  {} · {}", confidence_name(cause.confidence),
                             cause_name(cause.id))) +
         "\n";
}

std::string chain_text(const Diagnosis& found, const std::string& indent) {
  std::string text;
  for (const WaitEdge& link : found.chain) {
    text += fmt::format("{}{}\n{}  {} · {}\n", indent,
                        printable(link.who + " " + link.cause.summary), indent,
                        link.doing, printable(link.place));
  }
  return text;
}

// Of the first of them; what it names of itself is that one's.
std::string alike_text(const AlikeRanks& alike) {
  const WaitEdge& link = alike.first->chain.front();
  std::string text =
      fmt::format("  {}: {}\n    {} · {}\n", ranks_text(alike.ranks),
                  printable((alike.ranks.size() == 1 ? link.who + " " : "") +
                            link.cause.summary),
                  link.doing, printable(link.place));
  for (std::size_t i = 1; i < alike.first->chain.size(); ++i) {
    const WaitEdge& next = alike.first->chain[i];
    text += fmt::format("    {}\n      {} · {}\n",
                        printable(next.who + " " + next.cause.summary),
                        next.doing, printable(next.place));
  }
  return text;
}

// Nothing, where nothing is unusual.
std::string around_lines(const std::string& heading,
                         const Diagnosis& found,
                         const Palette& out) {
  std::string text = found.around.empty() ? "" : out.bold(heading) + "\n";
  for (const std::string& line : found.around) {
    text += fmt::format("  {}\n", printable(line));
  }
  return text;
}

std::string details(const Cause& cause,
                    const std::vector<std::string>& skipped,
                    const Palette& out) {
  std::string text;
  for (const std::string& one : skipped) {
    text += out.dim(fmt::format("not seen: {}", printable(one))) + "\n";
  }
  for (const NextStep& step : cause.next) {
    text += fmt::format("try: {}    {}\n", out.bold(printable(step.command)),
                        printable(step.why));
  }
  return text;
}

// But for what differs in numbers of processes.
bool same_answer(const Diagnosis& one, const Diagnosis& other) {
  return one.state == other.state && one.cause.id == other.cause.id &&
         one.chain.size() == other.chain.size() &&
         std::ranges::equal(one.chain, other.chain, {}, &WaitEdge::place,
                            &WaitEdge::place);
}

}  // namespace
}  // namespace hangdbg
