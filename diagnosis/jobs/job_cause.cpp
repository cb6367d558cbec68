#include "diagnosis/jobs/job_cause.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "diagnosis/jobs/mpi_cause.h"
#include "diagnosis/jobs/stuck_flows.h"
#include "diagnosis/waits/awaited_call.h"
#include "diagnosis/waits/rank_words.h"
#include "diagnosis/waits/rendezvous.h"
#include "inspector/jobs/choice.h"

namespace hangdbg {
namespace {

struct JobFinder {
  JobDiagnosis& job;
  double hung_after_s;
  Meeting meeting = {};

  void find();
  void blame_gone(const RankSet& gone);
  void blame_odd(const RankSet& odd);
  void blame_cycle(const std::vector<int>& circle);
  void blame_unread();
  void blame_network();
  void blame_nobody();
  void without_waiters();

  const RankDiagnosis* find_rank(int rank) const;
  // All of those that do the same as the worst of them.
  const RankDiagnosis* worst_of(const RankSet& ranks) const;
  RankSet alike(const RankSet& among, const Diagnosis& found) const;
  RankSet waiters() const;
  RankSet waiters_for(const RankSet& ranks) const;
  bool long_enough(const RankSet& ranks) const;
  bool some_long_enough(const RankSet& ranks) const;
  bool looks_again(int rank) const;
  bool for_messages(const RankSet& ranks) const;
  bool works(int rank) const;
  bool hangs(const Diagnosis& odd, const RankSet& waiting) const;
  std::string waits_in(const RankSet& ranks) const;
  std::string on_hosts(const RankSet& ranks) const;
};

const WaitEdge& root_of(const Diagnosis& found) {
  return found.chain[found.root];
}

Meeting meeting_of(const JobDiagnosis& job);

std::string each_of(const RankSet& ranks) {
  return (ranks.size() == 1 ? "" : "each of ") + ranks_text(ranks);
}

}  // namespace

void find_job_cause(JobDiagnosis& job, double hung_after_s) {
  JobFinder finder{job, hung_after_s, meeting_of(job)};
  finder.find();
  job.stalled = job.stalled || job.hung;
  job.state = job.hung ? Progress::Stuck : job.cause.progress;
  for (std::string& finding : findings(job.job)) {
    job.cause.evidence.push_back(std::move(finding));
  }
  const std::string name = job.job.launcher
                               ? fmt::format("{}", *job.job.launcher)
                               : shell_quote(job.job.id);
  if (!finder.meeting.waits_for.empty()) {
    job.cause.next.push_back(
        {fmt::format("hangdbg dump --job {} --merge", name),
         "where the ranks part, line by line"});
  }
}

namespace {

Meeting meeting_of(const JobDiagnosis& job) {
  std::vector<RankAtMeeting> ranks;
  for (const RankDiagnosis& rank : job.ranks) {
    if (rank.found) {
      ranks.push_back({rank.rank, rank.call, &rank.groups});
    }
  }
  Meeting meeting = meet(ranks, job.job.missing);
  // Ranks that wait for what another rank holds.
  for (const RankDiagnosis& rank : job.ranks) {
    if (!rank.found || rank.call) {
      continue;
    }
    const auto other = std::ranges::find_if(job.ranks, [&](const auto& one) {
      return one.pid == root_of(*rank.found).id.pid && one.host == rank.host;
    });
    if (other != job.ranks.end() && other->rank != rank.rank) {
      meeting.waits_for[rank.rank].add(other->rank);
    }
  }
  return meeting;
}

void JobFinder::find() {
  if (meeting.waits_for.empty()) {
    return without_waiters();
  }
  const RankSet odd = meeting.odd();
  RankSet gone;
  for (const int rank : odd.numbers()) {
    if (job.job.missing.contains(rank)) {
      gone.add(rank);
    }
  }
  if (!gone.empty()) {
    return blame_gone(gone);
  }
  if (worst_of(odd) != nullptr) {
    return blame_odd(odd);
  }
  if (!job.stuck_flows.empty()) {
    return blame_network();
  }
  if (goes_on_in_mpi(job)) {
    job.cause = going_on_cause(job);
    return;
  }
  if (!meeting.mismatched.empty() && !message_awaited(job)) {
    job.cause = mismatch_cause(meeting);
    job.odd = meeting.mismatched;
    job.hung = long_enough(waiters());
    return tell_of_watch(job, job.cause);
  }
  if (const auto circle = meeting.cycle(); !circle.empty()) {
    return blame_cycle(circle);
  }
  if (waiters().size() < job.ranks.size()) {
    // A rank outside of the collectives is not awaited there, or was not read.
    const bool unread = std::ranges::any_of(
        job.ranks, [](const RankDiagnosis& one) { return !one.found; });
    return unread ? blame_unread() : without_waiters();
  }
  if (message_awaited(job)) {
    job.hung = job.job.elsewhere.empty() && long_enough(waiters());
    job.cause = message_cause(job, job.hung);
    return;
  }
  blame_nobody();
}

void JobFinder::blame_gone(const RankSet& gone) {
  const RankSet waiting = waiters_for(gone);
  job.odd = gone;
  job.hung = some_long_enough(waiting);
  job.cause = {.id = CauseId::RankEnded,
               .progress = Progress::Stuck,
               // The message may be due from another rank, which is there.
               .confidence = for_messages(waiting) ? Confidence::Likely
                                                   : Confidence::Certain,
               .summary = fmt::format("{} {} ended; {} in {}", ranks_text(gone),
                                      gone.size() == 1 ? "has" : "have",
                                      waits_text(waiting, gone.size()),
                                      waits_in(waiting))};
  if (job.job.launcher) {
    job.cause.next.push_back(
        {fmt::format("kill {}", *job.job.launcher),
         "ends the job, and its launcher may say how that rank has ended"});
  }
}

void JobFinder::blame_odd(const RankSet& odd) {
  const RankDiagnosis& worst = *worst_of(odd);
  const Diagnosis& found = *worst.found;
  job.odd = alike(odd, found);
  const RankSet waiting = waiters_for(job.odd);
  job.hung = hangs(found, waiting);
  job.cause = found.cause;
  job.cause.summary =
      fmt::format("{}{} {}; {} in {}", each_of(job.odd), on_hosts(job.odd),
                  summary_line(found), waits_text(waiting, job.odd.size()),
                  waits_in(waiting));
  job.cause.evidence.push_back(
      fmt::format("rank {} is process {}{}, at {}", worst.rank, worst.pid,
                  worst.host.empty() ? "" : " on " + worst.host,
                  found.chain.front().place));
}

void JobFinder::blame_cycle(const std::vector<int>& circle) {
  RankSet all;
  std::string text;
  bool collectives = true;
  for (const int rank : circle) {
    const RankDiagnosis& one = *find_rank(rank);
    all.add(rank);
    collectives = collectives && one.call;
    text += fmt::format(
        "{}rank {}{} {} for {}", text.empty() ? "" : "; ", rank,
        one.host.empty() ? "" : " on " + one.host,
        one.call ? "waits in " + call_words(*one.call)
                 : "waits (" + one.found->chain.front().cause.summary + ")",
        ranks_text(meeting.waits_for.at(rank)));
    job.cause.evidence.push_back(fmt::format("rank {}: {}, {}", rank,
                                             one.found->chain.front().place,
                                             one.found->chain.front().doing));
  }
  job.odd = all;
  job.hung = long_enough(all);
  job.cause.id = collectives ? CauseId::CollectiveMismatch : CauseId::Deadlock;
  job.cause.progress = Progress::Stuck;
  job.cause.confidence = Confidence::Certain;
  job.cause.summary =
      fmt::format("{} wait for each other: {}", ranks_text(all), text);
}

void JobFinder::blame_unread() {
  RankSet unread;
  for (const RankDiagnosis& rank : job.ranks) {
    if (!rank.found) {
      unread.add(rank.rank);
    }
  }
  job.odd = unread;
  job.stalled = long_enough(waiters());
  job.cause = {.id = CauseId::Unknown,
               .progress = Progress::Blocked,
               .confidence = Confidence::Possible,
               .summary = fmt::format(
                   "{} could not be looked at; {} in {}", ranks_text(unread),
                   waits_text(waiters(), unread.size()), waits_in(waiters()))};
}

void JobFinder::blame_network() {
  const PeerFlow& worst = job.stuck_flows.front();
  for (const auto& rank : {worst.from, worst.to}) {
    if (rank) {
      job.odd.add(*rank);
    }
  }
  job.hung = some_long_enough(waiters());
  job.cause = {
      .id = CauseId::PeerUnreachable,
      .progress = Progress::Blocked,
      .confidence = Confidence::Certain,
      .summary = fmt::format("{}; {} in {}", flow_text(worst),
                             waits_text(waiters(), 1), waits_in(waiters()))};
  constexpr std::size_t kMost = 8;
  for (const PeerFlow& flow : job.stuck_flows) {
    if (job.cause.evidence.size() < kMost) {
      job.cause.evidence.push_back(
          fmt::format("{} ({} -> {}, {})", flow_text(flow), flow.sender.text(),
                      flow.receiver.text(), tcp_state_name(flow.state)));
    }
  }
  if (!on_hosts(job.odd).empty()) {
    if (worst.from && worst.state != TcpState::SynSent) {
      job.cause.evidence.push_back(far_end_text(worst));
    }
    job.cause.next.push_back(
        {"hangdbg net --probe", "which of the nodes reach each other"});
  }
  const std::string peer = worst.receiver.text();
  job.cause.next.push_back(
      {fmt::format("ping {}", peer.substr(0, peer.rfind(':'))),
       "from that rank's machine or container: whether it is there"});
  job.cause.next.push_back(
      {"hangdbg dist --job auto", "all that is under way between the ranks"});
}

void JobFinder::blame_nobody() {
  const bool more = !job.job.elsewhere.empty();
  // A rank that has data may take its time, and does not show it.
  job.stalled = long_enough(waiters()) &&
                (!stands_in_mpi(job) || waits_in(waiters()) == "MPI_Barrier");
  job.cause = {
      .id = CauseId::Collective,
      .progress = Progress::Blocked,
      .confidence = Confidence::Possible,
      .summary = fmt::format(
          "{}{} wait in {}, and all have come there: {}", more ? "" : "all ",
          more ? ranks_text(waiters()) + ", those that are here,"
               : fmt::format("{} ranks", job.ranks.size()),
          waits_in(waiters()),
          more ? "for those that are not seen here, or the network"
               : "for what does not get through the network, or a device")};
  if (!waits_in(waiters()).starts_with("MPI_")) {
    job.cause.next.push_back(
        {"hangdbg dist --job auto",
         "what is under way between them, and since when"});
  }
  tell_of_watch(job, job.cause);
}

void JobFinder::without_waiters() {
  RankSet all;
  for (const RankDiagnosis& rank : job.ranks) {
    all.add(rank.rank);
  }
  const RankDiagnosis* const worst = worst_of(all);
  if (worst == nullptr) {
    job.cause = {.id = CauseId::Unknown,
                 .confidence = Confidence::Possible,
                 .summary = "no rank could be looked at"};
    return;
  }
  const RankSet same = alike(all, *worst->found);
  job.odd = same.size() == all.size() ? RankSet() : same;
  job.hung = worst->found->hung();
  job.stalled = worst->found->stalled;
  job.cause = worst->found->cause;
  job.cause.summary =
      fmt::format("{} {}",
                  same.size() == all.size() && all.size() > 1
                      ? fmt::format("each of the {} ranks", all.size())
                      : each_of(same) + on_hosts(same),
                  summary_line(*worst->found));
}

const RankDiagnosis* JobFinder::find_rank(int rank) const {
  const auto found = std::ranges::find(job.ranks, rank, &RankDiagnosis::rank);
  return found == job.ranks.end() ? nullptr : &*found;
}

const RankDiagnosis* JobFinder::worst_of(const RankSet& ranks) const {
  const RankDiagnosis* worst = nullptr;
  // Among equally bad causes, the rarest is the outlier.
  const auto badness = [&](const RankDiagnosis& one) {
    return std::tuple(one.found->stalled, one.found->cause.progress,
                      one.found->cause.confidence,
                      job.ranks.size() - alike(ranks, *one.found).size());
  };
  for (const RankDiagnosis& one : job.ranks) {
    if (ranks.contains(one.rank) && one.found &&
        (worst == nullptr || badness(one) > badness(*worst))) {
      worst = &one;
    }
  }
  return worst;
}

RankSet JobFinder::alike(const RankSet& among, const Diagnosis& found) const {
  RankSet same;
  for (const RankDiagnosis& one : job.ranks) {
    if (among.contains(one.rank) && one.found &&
        one.found->cause.id == found.cause.id &&
        one.found->chain.front().place == found.chain.front().place) {
      same.add(one.rank);
    }
  }
  return same;
}

RankSet JobFinder::waiters() const {
  RankSet waiting;
  for (const auto& [rank, awaited] : meeting.waits_for) {
    waiting.add(rank);
  }
  return waiting;
}

RankSet JobFinder::waiters_for(const RankSet& ranks) const {
  RankSet waiting;
  for (const auto& [rank, awaited] : meeting.waits_for) {
    if (std::ranges::any_of(awaited.numbers(),
                            [&](int other) { return ranks.contains(other); })) {
      waiting.add(rank);
    }
  }
  return waiting;
}

bool JobFinder::long_enough(const RankSet& ranks) const {
  return std::ranges::all_of(ranks.numbers(), [this](int rank) {
    const RankDiagnosis& one = *find_rank(rank);
    const WaitEdge& first = one.found->chain.front();
    return (first.waiting_s && *first.waiting_s >= hung_after_s) ||
           (first.cause.watched && first.cause.watched->enough) ||
           (one.mpi && stands_in_mpi(job));
  });
}

// A rank that polls for others does not tell how long it has waited.
bool JobFinder::some_long_enough(const RankSet& ranks) const {
  return std::ranges::any_of(ranks.numbers(), [this](int rank) {
    RankSet one;
    one.add(rank);
    return long_enough(one);
  });
}

// MPI polls: it does not tell how long it has waited, also where it is asleep
// between two looks.
bool JobFinder::looks_again(int rank) const {
  const auto& call = find_rank(rank)->call;
  return call && is_of_mpi(*call);
}

bool JobFinder::for_messages(const RankSet& ranks) const {
  return std::ranges::all_of(ranks.numbers(), [this](int rank) {
    const auto& call = find_rank(rank)->call;
    return call && is_message(*call);
  });
}

bool JobFinder::works(int rank) const {
  const RankDiagnosis* const one = find_rank(rank);
  return one == nullptr || !one->found ||
         one->found->cause.progress == Progress::Running;
}

// A rank that works makes no other hang; an idle one does, as others wait for
// it. The sender of an awaited message is unknown: it may be at work.
bool JobFinder::hangs(const Diagnosis& odd, const RankSet& waiting) const {
  if (for_messages(waiting) &&
      std::ranges::any_of(meeting.odd().numbers(),
                          [this](int rank) { return works(rank); })) {
    return false;
  }
  switch (odd.cause.progress) {
    case Progress::Running:
      return false;
    case Progress::Idle:
      // A server's other ranks wait for its requests.
      return odd.cause.id != CauseId::Serves &&
             root_of(odd).waiting_s.value_or(0) >=
                 hung_after_s * odd.cause.timeout_scale &&
             (long_enough(waiting) ||
              std::ranges::any_of(waiting.numbers(), [this](int rank) {
                return looks_again(rank);
              }));
    case Progress::Polling:
      return odd.stalled || long_enough(waiting);
    case Progress::Unknown:
    case Progress::Blocked:
      return odd.stalled;
    case Progress::Stuck:
      return true;
  }
  return false;
}

// " on n3"; "" where all are on this machine.
std::string JobFinder::on_hosts(const RankSet& ranks) const {
  constexpr std::size_t kMostNamed = 3;
  std::set<std::string> hosts;
  for (const int rank : ranks.numbers()) {
    const RankDiagnosis* const one = find_rank(rank);
    if (one != nullptr && !one->host.empty()) {
      hosts.insert(one->host);
    }
  }
  if (hosts.size() > kMostNamed) {
    return fmt::format(" on {} nodes", hosts.size());
  }
  return hosts.empty() ? "" : fmt::format(" on {}", fmt::join(hosts, ", "));
}

std::string JobFinder::waits_in(const RankSet& ranks) const {
  std::string name;
  bool same = true;
  bool mpi = true;
  for (const int rank : ranks.numbers()) {
    const auto& call = find_rank(rank)->call;
    const std::string own = call ? call->function : "other things";
    same = same && (name.empty() || name == own);
    mpi = mpi && call && is_of_mpi(*call);
    name = own;
  }
  return same ? name : mpi ? "different calls of MPI" : "different collectives";
}

}  // namespace
}  // namespace hangdbg
