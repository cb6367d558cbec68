#include "client/views/dist/read_back.h"

#include <optional>
#include <utility>

#include "base/text.h"

namespace hangdbg {
namespace {

std::optional<NumberedCollective> read_collective(
    const std::optional<reports::DistCollective>& said) {
  return said ? std::optional(NumberedCollective{said->number, said->name})
              : std::nullopt;
}

std::optional<std::uint64_t> read_count(
    const std::optional<std::int64_t>& said) {
  return said && *said >= 0 ? std::optional(static_cast<std::uint64_t>(*said))
                            : std::nullopt;
}

ProcessGroup read_group(const reports::DistGroup& said) {
  ProcessGroup group;
  group.name = said.name;
  group.backend = said.backend;
  group.is_default = said.is_default;
  group.ranks = said.ranks;
  for (const reports::DistBackend& one : said.backends) {
    group.backends.push_back({.type = one.type,
                              .begun = read_count(one.begun),
                              .collectives = read_count(one.collectives),
                              .has_status = one.enqueued || one.completed,
                              .enqueued = read_collective(one.enqueued),
                              .started = read_collective(one.started),
                              .completed = read_collective(one.completed)});
  }
  return group;
}

DistThread read_thread(const reports::DistThread& said) {
  DistThread thread;
  thread.name = said.name;
  thread.state = printable(said.state);
  thread.waiting_s = said.waiting_s;
  if (said.call) {
    CollectiveCall& call = thread.call.emplace();
    call.function = said.call->function;
    call.inner = said.call->inner;
    call.group = said.call->group;
    call.operation = said.call->operation;
    call.peer = said.call->peer;
    call.caller = said.place ? std::optional<std::size_t>(0) : std::nullopt;
    if (said.call->tensor) {
      ArrayShape& shape = call.tensor.emplace();
      shape.sizes = said.call->tensor->shape;
      shape.dtype = said.call->tensor->dtype;
      shape.device = said.call->tensor->device;
    }
  }
  if (said.place) {
    PythonFrame frame;
    frame.function = said.place->function;
    frame.file = said.place->file;
    frame.line = static_cast<int>(said.place->line);
    thread.frames.push_back(std::move(frame));
  }
  return thread;
}

Error read_error(const reports::ReportedError& said) {
  return {.id = ErrorId::NodeFailed, .message = printable(said.message)};
}

}  // namespace

DistRank read_back(const reports::DistRank& said) {
  const int rank = static_cast<int>(said.rank.value_or(said.pid));
  if (!said.python) {
    return {.pid = static_cast<int>(said.pid),
            .rank = rank,
            .look = std::unexpected(
                read_error(said.error.value_or(reports::ReportedError{})))};
  }
  DistSnapshot look;
  look.pid = static_cast<int>(said.pid);
  look.python = *said.python;
  look.groups.imported = !said.groups.empty();
  for (const reports::DistGroup& group : said.groups) {
    look.groups.groups.push_back(read_group(group));
  }
  for (const reports::DistThread& thread : said.threads) {
    look.threads.push_back(read_thread(thread));
  }
  if (said.error) {
    look.why_no_groups = read_error(*said.error);
  }
  return {.pid = look.pid, .rank = rank, .look = std::move(look)};
}

}  // namespace hangdbg
