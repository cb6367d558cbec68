#include "client/views/diagnose/evidence.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "client/terminal/reported.h"
#include "client/views/diagnose/travelling_connections.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostGroupRanks = 4'000'000;  // of one node, in all

// "0-3,9,8": in that order.
std::string in_order(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) {
      ++end;
    }
    text += fmt::format("{}{}", text.empty() ? "" : ",", ranks[i]);
    if (end - i > 1) {
      text += fmt::format("-{}", ranks[end - 1]);
    }
    i = end;
  }
  return text;
}

Result<std::vector<int>> from_order(const std::string& text,
                                    std::size_t& room) {
  std::vector<int> ranks;
  for (const std::string_view piece :
       text.empty() ? std::vector<std::string_view>() : split(text, ',')) {
    const auto dash = piece.find('-');
    const auto first = parse_number<int>(piece.substr(0, dash));
    const auto last = dash == std::string_view::npos
                          ? first
                          : parse_number<int>(piece.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first ||
        *last >= kMostRanks ||
        static_cast<std::size_t>(*last - *first) >= room) {
      return fail(ErrorId::BadMessage, "a group's ranks are malformed");
    }
    room -= static_cast<std::size_t>(*last - *first) + 1;
    for (int rank = *first; rank <= *last; ++rank) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

reports::EvidenceCause travel(const Cause& cause) {
  reports::EvidenceCause to{
      .id = std::string(cause_name(cause.id)),
      .progress = std::string(progress_name(cause.progress)),
      .confidence = std::string(confidence_name(cause.confidence)),
      .summary = cause.summary,
      .evidence = cause.evidence};
  for (const NextStep& step : cause.next) {
    to.next.push_back({step.command, step.why});
  }
  if (cause.watched) {
    to.watched = {cause.watched->function, cause.watched->seconds,
                  cause.watched->enough};
  }
  return to;
}

reports::EvidenceEdge travel(const WaitEdge& edge) {
  return {.pid = edge.id.pid,
          .tid = edge.id.tid,
          .who = edge.who,
          .place = edge.place,
          .doing = edge.doing,
          .waiting_s = edge.waiting_s,
          .naps = edge.naps,
          .has_time_limit = edge.has_time_limit,
          .cause = travel(edge.cause)};
}

reports::EvidenceDiagnosis travel(const Diagnosis& found) {
  reports::EvidenceDiagnosis to{
      .title = found.title,
      .state = std::string(progress_name(found.state)),
      .stalled = found.stalled,
      .partial = found.partial,
      .root = static_cast<std::int64_t>(found.root),
      .cycle = static_cast<std::int64_t>(found.cycle),
      .cause = travel(found.cause),
      .around = found.around,
      .skipped = found.skipped};
  for (const WaitEdge& edge : found.chain) {
    to.chain.push_back(travel(edge));
  }
  for (const WaitEdge& edge : found.also) {
    to.also.push_back(travel(edge));
  }
  return to;
}

std::optional<reports::EvidenceCollective> travel(
    const std::optional<NumberedCollective>& from) {
  return from ? std::optional(
                    reports::EvidenceCollective{from->number, from->name})
              : std::nullopt;
}

std::optional<NumberedCollective> back(
    const std::optional<reports::EvidenceCollective>& from) {
  return from ? std::optional(NumberedCollective{from->number, from->name})
              : std::nullopt;
}

template <class To, class From>
std::optional<To> number_of(const std::optional<From>& from) {
  return from ? std::optional(static_cast<To>(*from)) : std::nullopt;
}

reports::EvidenceGroup travel(const ProcessGroup& group) {
  reports::EvidenceGroup to{.name = group.name,
                            .backend = group.backend,
                            .is_default = group.is_default,
                            .ranks = in_order(group.ranks)};
  for (const GroupBackend& one : group.backends) {
    to.backends.push_back(
        {.type = one.type,
         .begun = number_of<std::int64_t>(one.begun),
         .collectives = number_of<std::int64_t>(one.collectives),
         .has_status = one.has_status,
         .enqueued = travel(one.enqueued),
         .started = travel(one.started),
         .completed = travel(one.completed)});
  }
  return to;
}

Progress progress_of(std::string_view name) {
  for (const Progress one :
       {Progress::Running, Progress::Idle, Progress::Polling, Progress::Blocked,
        Progress::Stuck}) {
    if (progress_name(one) == name) {
      return one;
    }
  }
  return Progress::Unknown;
}

Cause back(const reports::EvidenceCause& from) {
  Cause cause{.progress = progress_of(from.progress),
              .confidence = Confidence::Possible,
              .summary = from.summary,
              .evidence = from.evidence};
  for (int id = 0; id <= static_cast<int>(CauseId::WriterGone); ++id) {
    if (cause_name(static_cast<CauseId>(id)) == from.id) {
      cause.id = static_cast<CauseId>(id);
    }
  }
  for (const Confidence one : {Confidence::Likely, Confidence::Certain}) {
    if (confidence_name(one) == from.confidence) {
      cause.confidence = one;
    }
  }
  for (const reports::DiagnosisStep& step : from.next) {
    cause.next.push_back({step.command, step.why});
  }
  if (from.watched) {
    cause.watched = {from.watched->function, from.watched->seconds,
                     from.watched->enough};
  }
  return cause;
}

WaitEdge back(const reports::EvidenceEdge& from) {
  return {.id = {static_cast<int>(from.pid), static_cast<int>(from.tid)},
          .who = from.who,
          .place = from.place,
          .doing = from.doing,
          .waiting_s = from.waiting_s,
          .naps = from.naps,
          .has_time_limit = from.has_time_limit,
          .cause = back(from.cause)};
}

Result<Diagnosis> back(const reports::EvidenceRank& rank) {
  if (!rank.diagnosis) {
    return fail(ErrorId::Unreadable,
                rank.error ? rank.error->message : "it was not looked at");
  }
  const reports::EvidenceDiagnosis& from = *rank.diagnosis;
  const auto length = static_cast<std::int64_t>(from.chain.size());
  if (from.root < 0 || from.root >= length || from.cycle < 0 ||
      from.cycle > length) {
    return fail(ErrorId::BadMessage, "a chain of waits is malformed");
  }
  Diagnosis found{.pid = static_cast<int>(rank.pid),
                  .title = from.title,
                  .state = progress_of(from.state),
                  .stalled = from.stalled,
                  .root = static_cast<std::size_t>(from.root),
                  .cycle = static_cast<std::size_t>(from.cycle),
                  .cause = back(from.cause),
                  .around = from.around,
                  .skipped = from.skipped,
                  .partial = from.partial};
  for (const reports::EvidenceEdge& edge : from.chain) {
    found.chain.push_back(back(edge));
  }
  for (const reports::EvidenceEdge& edge : from.also) {
    found.also.push_back(back(edge));
  }
  return found;
}

Result<ProcessGroups> groups_of(const reports::EvidenceRank& rank,
                                std::size_t& room) {
  ProcessGroups groups{.imported = !rank.groups.empty(),
                       .complete = rank.groups_complete};
  for (const reports::EvidenceGroup& from : rank.groups) {
    ProcessGroup group{.name = from.name,
                       .backend = from.backend,
                       .is_default = from.is_default,
                       .ranks = TRY(from_order(from.ranks, room))};
    for (const reports::EvidenceBackend& one : from.backends) {
      group.backends.push_back(
          {.type = one.type,
           .begun = number_of<std::uint64_t>(one.begun),
           .collectives = number_of<std::uint64_t>(one.collectives),
           .has_status = one.has_status,
           .enqueued = back(one.enqueued),
           .started = back(one.started),
           .completed = back(one.completed)});
    }
    groups.groups.push_back(std::move(group));
  }
  return groups;
}

CollectiveCall back(const reports::EvidenceCall& from) {
  CollectiveCall call{.function = from.function,
                      .inner = from.inner,
                      .group = from.group,
                      .operation = from.operation,
                      .peer = from.peer};
  if (from.tensor) {
    call.tensor =
        ArrayShape{from.tensor->shape, from.tensor->dtype, from.tensor->device};
  }
  return call;
}

}  // namespace

reports::EvidenceJob evidence_of(const JobDiagnosis& found) {
  reports::EvidenceJob to{.job = found.job.id,
                          .kind = found.job.kind,
                          .missing = found.job.missing.numbers(),
                          .skipped = found.skipped};
  if (found.job.world_size) {
    to.world_size = *found.job.world_size;
  }
  for (const RankDiagnosis& rank : found.ranks) {
    reports::EvidenceRank one{.rank = rank.rank,
                              .pid = rank.pid,
                              .groups_complete = rank.groups.complete};
    if (rank.found) {
      one.diagnosis = travel(*rank.found);
    } else {
      one.error = reported(rank.found.error());
    }
    if (const auto& call = rank.call) {
      one.call = reports::EvidenceCall{call->function, call->inner, call->group,
                                       call->operation, call->peer};
      if (call->tensor) {
        one.call->tensor = {call->tensor->sizes, call->tensor->dtype,
                            call->tensor->device};
      }
    }
    for (const ProcessGroup& group : rank.groups.groups) {
      one.groups.push_back(travel(group));
    }
    if (rank.connections) {
      one.connections = travel(*rank.connections);
    }
    to.ranks.push_back(std::move(one));
  }
  return to;
}

Status add_evidence(const reports::EvidenceJob& from,
                    const std::string& host,
                    JobDiagnosis& all) {
  std::vector<RankDiagnosis> ranks;
  std::size_t room = kMostGroupRanks;
  for (const reports::EvidenceRank& one : from.ranks) {
    if (one.rank < 0 || one.rank >= kMostRanks) {
      return fail(ErrorId::BadMessage, "a rank's number cannot be");
    }
    ranks.push_back(
        {.rank = static_cast<int>(one.rank),
         .pid = static_cast<int>(one.pid),
         .found = back(one),
         .call = one.call ? std::optional(back(*one.call)) : std::nullopt,
         .groups = TRY(groups_of(one, room)),
         .host = host});
    if (one.connections) {
      ranks.back().connections = TRY(back(*one.connections, host));
    }
  }
  for (RankDiagnosis& rank : ranks) {
    const bool known = std::ranges::any_of(
        all.ranks, [&](const auto& one) { return one.rank == rank.rank; });
    if (known) {
      all.skipped.push_back(fmt::format(
          "rank {} on {}: another node has that one too", rank.rank, host));
      continue;
    }
    all.job.ranks.push_back({.rank = rank.rank, .pid = rank.pid});
    all.ranks.push_back(std::move(rank));
  }
  for (const int rank : from.missing) {
    if (rank >= 0 && rank < kMostRanks) {
      all.job.missing.add(rank);
    }
  }
  for (const std::string& skipped : from.skipped) {
    all.skipped.push_back(fmt::format("{}: {}", host, skipped));
  }
  if (from.world_size && *from.world_size > 0 &&
      *from.world_size <= kMostRanks) {
    all.job.world_size = std::max(all.job.world_size.value_or(0),
                                  static_cast<int>(*from.world_size));
  }
  return {};
}

}  // namespace hangdbg
