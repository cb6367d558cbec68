#include "client/views/dist/words.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "client/terminal/render.h"

namespace hangdbg {

std::string group_words(const GroupProgress& group) {
  return "group " + printable(group.name);
}

std::string flow_words(const DistReport& report, const PeerFlow& flow) {
  const std::string from = report.who(flow.from, flow.sender);
  const std::string to = report.who(flow.to, flow.receiver);
  const std::string since =
      flow.quiet ? " for " + duration_words(*flow.quiet) : "";
  const std::string store = flow.store ? ", the store's" : "";
  const std::string begin = fmt::format("{} -> {}{}: ", from, to, store);
  switch (flow.flow) {
    case Flow::Unreachable:
      return begin +
             (flow.state == TcpState::SynSent
                  ? fmt::format("no connection, no answer{}", since)
                  : fmt::format("{} bytes do not get through, sent "
                                "again {} times, no answer{}",
                                flow.undelivered, flow.retransmits, since));
    case Flow::Closed:
      return begin + fmt::format("{} has closed it ({})", from,
                                 tcp_state_name(flow.state));
    case Flow::Unread:
      return begin +
             fmt::format("{} bytes have come and are not read, nothing new{}",
                         flow.unread, since);
    case Flow::Undelivered:
      return begin + fmt::format("{} bytes have not arrived{}",
                                 flow.undelivered, since);
    case Flow::Quiet:
      break;
  }
  return begin + (flow.quiet ? "nothing" + since : "nothing under way");
}

const PythonFrame* program_frame(const DistThread& thread) {
  const std::size_t first =
      thread.call ? thread.call->caller.value_or(thread.frames.size()) : 0;
  const auto begin =
      thread.frames.begin() +
      static_cast<std::ptrdiff_t>(std::min(first, thread.frames.size()));
  const auto own = std::find_if(begin, thread.frames.end(), [](const auto& it) {
    return !is_library_path(it.file) && !it.file.starts_with('<');
  });
  const auto shown = own != thread.frames.end() ? own : begin;
  return shown == thread.frames.end() ? nullptr : &*shown;
}

std::string duration_words(std::chrono::milliseconds duration) {
  return human_duration(duration);
}

}  // namespace hangdbg
