#include "client/views/dist/json.h"

#include <string>
#include <utility>
#include <vector>

#include "base/host_name.h"
#include "client/options/expression_args.h"
#include "client/terminal/reported.h"
#include "client/views/dist/words.h"
#include "protocol/reports/dist.h"

namespace hangdbg {
namespace {

reports::DistBackend to_json(const GroupBackend& from);
reports::DistGroup to_json(const ProcessGroup& from);
reports::DistThread to_json(const DistThread& from);
reports::DistRank to_json(const DistRank& from);
reports::DistStep to_json(const GroupStep& from);
reports::DistProgress to_json(const GroupProgress& from);
reports::DistFlow to_json(const PeerFlow& from);

template <class To, class From>
std::vector<To> each_to_json(const std::vector<From>& from) {
  std::vector<To> all;
  for (const From& one : from) {
    all.push_back(to_json(one));
  }
  return all;
}

std::optional<reports::DistCollective> to_json(
    const std::optional<NumberedCollective>& from) {
  return from ? std::optional(reports::DistCollective{from->number, from->name})
              : std::nullopt;
}

reports::DistBackend to_json(const GroupBackend& from) {
  reports::DistBackend json{.type = from.type,
                            .begun = {},
                            .collectives = {},
                            .enqueued = to_json(from.enqueued),
                            .started = to_json(from.started),
                            .completed = to_json(from.completed)};
  if (from.begun) {
    json.begun = static_cast<std::int64_t>(*from.begun);
  }
  if (from.collectives) {
    json.collectives = static_cast<std::int64_t>(*from.collectives);
  }
  return json;
}

reports::DistGroup to_json(const ProcessGroup& from) {
  return {.name = from.name,
          .backend = from.backend,
          .is_default = from.is_default,
          .ranks = from.ranks,
          .backends = each_to_json<reports::DistBackend>(from.backends)};
}

reports::DistCall to_json(const CollectiveCall& from) {
  reports::DistCall json{.function = from.function,
                         .inner = from.inner,
                         .group = from.group,
                         .operation = from.operation,
                         .peer = from.peer,
                         .tensor = {}};
  if (from.tensor) {
    json.tensor = {from.tensor->sizes, from.tensor->dtype, from.tensor->device};
  }
  return json;
}

reports::DistThread to_json(const DistThread& from) {
  reports::DistThread json{.tid = from.tid,
                           .name = from.name,
                           .state = from.state,
                           .waiting_s = from.waiting_s,
                           .call = {},
                           .place = {}};
  if (from.call) {
    json.call = to_json(*from.call);
  }
  if (const PythonFrame* const frame = program_frame(from)) {
    json.place = {frame->function, frame->file, frame->line};
  }
  return json;
}

reports::DistRank to_json(const DistRank& from) {
  reports::DistRank json{.pid = from.pid};
  if (!from.look) {
    json.error = reported(from.look.error());
    return json;
  }
  json.python = from.look->python;
  json.groups = each_to_json<reports::DistGroup>(from.look->groups.groups);
  json.threads = each_to_json<reports::DistThread>(from.look->threads);
  if (from.look->why_no_groups) {
    json.error = reported(*from.look->why_no_groups);
  }
  if (from.asked) {
    json.asked = *from.asked ? encode(**from.asked)
                             : encode(reported(from.asked->error()));
  }
  return json;
}

reports::DistStep to_json(const GroupStep& from) {
  return {from.ranks.numbers(), from.begun,   from.over,
          from.started,         from.pending, from.name};
}

reports::DistProgress to_json(const GroupProgress& from) {
  return {.name = from.name,
          .backend = from.backend,
          .type = from.backend_type,
          .is_default = from.is_default,
          .ranks = from.ranks,
          .steps = each_to_json<reports::DistStep>(from.steps),
          .uncounted = from.uncounted.numbers(),
          .unseen = from.unseen.numbers(),
          .apart = from.apart,
          .behind = from.behind().numbers(),
          .mismatched = from.mismatched().numbers()};
}

reports::DistFlow to_json(const PeerFlow& from) {
  reports::DistFlow json{.from = from.from,
                         .to = from.to,
                         .sender = from.sender.text(),
                         .receiver = from.receiver.text(),
                         .from_fd = from.from_fd,
                         .to_fd = from.to_fd,
                         .tcp = std::string(tcp_state_name(from.state)),
                         .flow = flow_name(from.flow),
                         .store = from.store,
                         .unread = from.unread,
                         .undelivered = from.undelivered,
                         .retransmits = from.retransmits,
                         .quiet_s = {},
                         .bytes = {}};
  if (from.quiet) {
    json.quiet_s = static_cast<double>(from.quiet->count()) / 1000;
  }
  if (from.bytes) {
    json.bytes = static_cast<std::int64_t>(*from.bytes);
  }
  return json;
}

}  // namespace

Json dist_json(const DistReport& report) {
  reports::Dist json{
      .job = {},
      .findings = findings(report),
      .groups = each_to_json<reports::DistProgress>(report.groups),
      .ranks = each_to_json<reports::DistRank>(report.ranks),
      .connections = each_to_json<reports::DistFlow>(report.flows),
      .missing = {},
      .without_times = {},
      .all_sockets = report.all_sockets};
  if (report.job) {
    json.job = report.job->id;
    json.missing = report.job->missing.numbers();
    for (std::size_t i = 0; i < report.ranks.size(); ++i) {
      json.ranks[i].rank = report.ranks[i].rank;
    }
  }
  if (report.why_no_times) {
    json.without_times = reported(*report.why_no_times);
  }
  return encode(json);
}

}  // namespace hangdbg
