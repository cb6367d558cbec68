// The store of torch.distributed, where the ranks of a job meet: a reader of a
// key waits until it is set.
#include <fmt/core.h>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "diagnosis/waits/awaited_files.h"

namespace hangdbg::causes {

Found store(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const AwaitedFiles awaited = awaited_files(of, thread);
  if (!of.is_python() || awaited.files.size() != 1 ||
      awaited.files[0].file.kind != FileKind::Socket) {
    return std::nullopt;
  }
  const auto socket = of.system.tcp_socket(of.pid, awaited.files[0].file.inode);
  const auto port = socket ? of.variable("MASTER_PORT") : std::nullopt;
  if (!port || socket->state != TcpState::Established ||
      socket->unacknowledged > 0 ||
      parse_number<std::uint16_t>(*port) != socket->remote.port) {
    return std::nullopt;
  }
  Cause cause{.id = CauseId::StoreWait,
              .progress = Progress::Blocked,
              .confidence = Confidence::Likely};
  cause.summary = fmt::format(
      "waits in the store of its job, at {}, for what no rank has set there",
      socket->remote.text());
  cause.evidence.push_back(
      fmt::format("{} of fd {}, to MASTER_PORT, at {}", thread.wait.syscall,
                  awaited.files[0].file.fd, thread.place()));
  if (socket->progress) {
    cause.evidence.push_back(
        fmt::format("the last answer came {} ago",
                    human_duration(socket->progress->last_received)));
  }
  cause.next.push_back(
      {fmt::format("hangdbg dump {} --source --locals", of.pid),
       "for which key"});
  return cause;
}

}  // namespace hangdbg::causes
