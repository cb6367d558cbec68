#include "client/views/dist/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "client/views/dist/words.h"

namespace hangdbg {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMostRanges = 8;
constexpr std::size_t kMostGroups = 20;
constexpr std::size_t kMostQuiet = 16;  // lines
constexpr milliseconds kAlike{1000};    // times that are said as one

// Ranks at the same place share a line.
struct RanksInCall {
  RankSet ranks;
  std::string where;
  std::string state;  // of the first
  std::optional<double> shortest, longest;
};

// The ranks that receive nothing, and from which.
struct Silence {
  int to;
  milliseconds shortest, longest;
  std::vector<int> from;
};

std::string groups_text(const DistReport& report, const Palette& out);
std::string group_text(const DistReport& report, const GroupProgress& group);
std::string step_text(const GroupProgress& group, const GroupStep& step);
std::string ranks_text(const DistReport& report, const Palette& out);
void add(std::vector<RanksInCall>& all, int rank, const DistThread& thread);
std::string asked_text(const DistReport& report, const Palette& out);
std::string flows_text(const DistReport& report, const Palette& out);
std::string list(std::vector<int> numbers);

}  // namespace

std::string dist_progress_text(const DistReport& report, const Palette& out) {
  std::string text;
  for (const std::string& finding : findings(report)) {
    text += out.red(finding) + "\n";
  }
  return text + groups_text(report, out) + ranks_text(report, out);
}

std::string dist_text(const DistReport& report, const Palette& out) {
  return (report.job ? out.bold(job_text(*report.job)) + "\n" : "") +
         dist_progress_text(report, out) + asked_text(report, out) +
         flows_text(report, out);
}

namespace {

std::string groups_text(const DistReport& report, const Palette& out) {
  std::string text = out.bold("process groups") + "\n";
  std::size_t shown = 0;
  for (const GroupProgress& group : report.groups) {
    if (++shown > kMostGroups) {
      return text + fmt::format("  and {} more (--json lists all)\n",
                                report.groups.size() - kMostGroups);
    }
    text += group_text(report, group);
  }
  const bool imported = std::ranges::any_of(report.ranks, [](const auto& one) {
    return one.look && one.look->groups.imported;
  });
  return text + (!report.groups.empty() ? ""
                 : imported             ? "  none\n"
                            : "  none: torch.distributed is not imported\n");
}

std::string group_text(const DistReport& report, const GroupProgress& group) {
  const std::string type =
      group.backend_type.empty() || group.backend.find(':') == std::string::npos
          ? ""
          : fmt::format(" ({})", printable(group.backend_type));
  RankSet members;
  for (const int rank : group.ranks) {
    members.add(rank);
  }
  std::string text = fmt::format(
      "  {}{} · {}{} · {} {}: {}\n", group_words(group),
      group.is_default ? " (default)" : "", printable(group.backend), type,
      group.ranks.size(), group.ranks.size() == 1 ? "rank" : "ranks",
      members.text(kMostRanges));
  for (const GroupStep& step : group.steps) {
    text += fmt::format("    {}: {}\n", report.whose(step.ranks),
                        step_text(group, step));
  }
  if (!group.uncounted.empty()) {
    text += fmt::format("    {}: how many cannot be read here; --ask asks\n",
                        report.whose(group.uncounted));
  }
  if (group.apart) {
    text +=
        "    these numbers say nothing about each other: the ranks run, or "
        "count what they send and receive as well\n";
  }
  return text;
}

// "scheduled", as in torch's Flight Recorder: given to the device.
std::string device_text(const GroupProgress& group, const GroupStep& step) {
  if (group.backend_type != "ProcessGroupNCCL" || step.over != false) {
    return "";
  }
  return !step.started   ? ": scheduled, not known to have started (torch "
                           "records that with TORCH_NCCL_ENABLE_TIMING=1)"
         : *step.started ? ": started"
                         : ": scheduled, not started";
}

std::string step_text(const GroupProgress& group, const GroupStep& step) {
  const std::int64_t behind = group.steps.front().begun - step.begun;
  const std::string late =
      behind > 0 && !group.apart ? fmt::format(", {} behind", behind) : "";
  const std::string name =
      step.name.empty() ? "" : fmt::format(" ({})", printable(step.name));
  if (step.begun == 0) {
    return "no collective has begun" + late;
  }
  const std::string over =
      !step.over          ? ""
      : *step.over        ? ", all finished"
      : step.pending == 0 ? ", not all finished"
      : step.pending == 1
          ? ", the last has not finished"
          : fmt::format(", the last {} have not finished", step.pending);
  return fmt::format("{} begun{}{}{}{}", step.begun, name, over,
                     device_text(group, step), late);
}

std::string ranks_text(const DistReport& report, const Palette& out) {
  std::vector<RanksInCall> all;
  std::string unread;
  for (const DistRank& one : report.ranks) {
    if (!one.look) {
      unread += fmt::format("  {}: {}\n", report.who(one.rank, {}),
                            one.look.error().text());
      continue;
    }
    if (one.look->why_no_groups) {
      unread += fmt::format("  {}: its groups cannot be read: {}\n",
                            report.who(one.rank, {}),
                            one.look->why_no_groups->text());
    }
    const bool any = std::ranges::any_of(
        one.look->threads, [](const auto& it) { return it.call.has_value(); });
    for (const DistThread& thread : one.look->threads) {
      if (thread.call || !any) {
        add(all, one.rank, thread);
      }
    }
  }
  // Few are odd.
  std::ranges::stable_sort(
      all, {}, [](const RanksInCall& one) { return one.ranks.size(); });
  std::string text = out.bold("in which call") + "\n";
  for (const RanksInCall& alike : all) {
    text += fmt::format("  {}: {} · {}", report.whose(alike.ranks), alike.where,
                        alike.state);
    if (alike.shortest && *alike.longest - *alike.shortest > 1) {
      text += fmt::format(
          " to {}", duration_words(milliseconds(
                        static_cast<std::int64_t>(*alike.longest * 1000))));
    }
    text += "\n";
  }
  return text + unread;
}

void add(std::vector<RanksInCall>& all, int rank, const DistThread& thread) {
  const PythonFrame* const frame = program_frame(thread);
  const std::string place =
      frame == nullptr
          ? ""
          : fmt::format("{} ({}:{})", printable(frame->function),
                        printable(short_path(frame->file)), frame->line);
  const std::string where =
      thread.call     ? fmt::format("in {}{}", call_words(*thread.call),
                                place.empty() ? "" : ", called by " + place)
      : place.empty() ? "in no Python function"
                      : "in no collective; in " + place;
  // "asleep in futex" of "asleep in futex for 3 min 2 s"
  const std::string kind = thread.state.substr(0, thread.state.find(" for "));
  auto same = std::ranges::find_if(all, [&](const RanksInCall& one) {
    return one.where == where &&
           one.state.substr(0, one.state.find(" for ")) == kind;
  });
  if (same == all.end()) {
    all.push_back({.ranks = {},
                   .where = where,
                   .state = thread.state,
                   .shortest = thread.waiting_s,
                   .longest = thread.waiting_s});
    same = all.end() - 1;
  }
  same->ranks.add(rank);
  if (thread.waiting_s) {
    if (!same->shortest || *thread.waiting_s < *same->shortest) {
      same->shortest = thread.waiting_s;
      same->state = thread.state;
    }
    same->longest =
        std::max(same->longest.value_or(*thread.waiting_s), *thread.waiting_s);
  }
}

// What they said themselves: the collectives that torch has recorded.
std::string asked_text(const DistReport& report, const Palette& out) {
  std::string text;
  for (const DistRank& one : report.ranks) {
    if (!one.asked) {
      continue;
    }
    const std::string who = report.who(one.rank, {});
    if (!*one.asked) {
      text += fmt::format("  {}: {}\n", who, one.asked->error().text());
      continue;
    }
    const auto& body = **one.asked;
    if (!body.recorded) {
      text += fmt::format("  {}: torch has no record here\n", who);
      continue;
    }
    for (const auto& entry : *body.recorded) {
      text += fmt::format("  {}: group {}, {} {} {}, begun {} ago, {}\n", who,
                          printable(entry.group), entry.number,
                          printable(entry.name), printable(entry.tensors),
                          duration_words(milliseconds(entry.age_ms)),
                          entry.over ? "over" : "not finished");
    }
  }
  return text.empty() ? text
                      : out.bold("what torch has recorded") + "\n" + text;
}

std::string flows_text(const DistReport& report, const Palette& out) {
  std::string text = out.bold("connections") + "\n";
  // Of a receiver and a sender.
  std::map<std::pair<int, int>, milliseconds> latest;
  std::size_t between = 0;
  std::size_t store = 0;
  std::size_t others = 0;
  for (const PeerFlow& flow : report.flows) {
    (flow.store ? store : flow.from && flow.to ? between : others) += 1;
    if (flow.store || !flow.from || !flow.to || flow.flow != Flow::Quiet ||
        !flow.quiet) {
      continue;
    }
    const auto known =
        latest.try_emplace({*flow.to, *flow.from}, *flow.quiet).first;
    known->second = std::min(known->second, *flow.quiet);
  }
  text += fmt::format("  {} {}, {} to the store, {} to others\n", between / 2,
                      report.job ? "between ranks" : "with itself", store / 2,
                      others / 2);
  std::vector<Silence> lines;
  std::size_t moving = 0;
  for (const auto& [pair, quiet] : latest) {
    const auto& [to, from] = pair;
    if (quiet < kAlike) {
      ++moving;
      continue;
    }
    const auto same = std::ranges::find_if(lines, [&](const Silence& one) {
      return one.to == to &&
             std::max(one.longest, quiet) - std::min(one.shortest, quiet) <
                 kAlike;
    });
    if (same == lines.end()) {
      lines.push_back({to, quiet, quiet, {from}});
    } else {
      same->shortest = std::min(same->shortest, quiet);
      same->longest = std::max(same->longest, quiet);
      same->from.push_back(from);
    }
  }
  std::ranges::stable_sort(lines, std::ranges::greater(), &Silence::shortest);
  std::size_t shown = 0;
  for (const Silence& line : lines) {
    if (++shown > kMostQuiet) {
      text += fmt::format("  and {} more (--json lists all)\n",
                          lines.size() - kMostQuiet);
      break;
    }
    text += fmt::format("  {} <- {}: nothing for {}\n",
                        report.who(line.to, SocketAddress()), list(line.from),
                        duration_words(line.shortest));
  }
  if (moving > 0) {
    text +=
        fmt::format("  {} have brought something within a second\n", moving);
  }
  if (report.why_no_times) {
    text += fmt::format("  since when is not known: {}\n",
                        report.why_no_times->text());
  }
  for (const auto& [pid, why] : report.without_sockets) {
    text += fmt::format("  those of {} cannot be read: {}\n", pid, why.text());
  }
  if (!report.all_sockets) {
    text += "  there are more sockets here than were read\n";
  }
  return text;
}

std::string list(std::vector<int> numbers) {
  RankSet ranks;
  std::ranges::sort(numbers);
  for (const int number : numbers) {
    ranks.add(number);
  }
  return ranks.text(kMostRanges);
}

}  // namespace
}  // namespace hangdbg
