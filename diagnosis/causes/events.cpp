// What servers do between two requests: they wait for any of several
// descriptors, or for who connects.
#include <fmt/core.h>

#include <algorithm>

#include "diagnosis/causes/causes.h"
#include "diagnosis/waits/awaited_files.h"

namespace hangdbg::causes {
namespace {

bool is_listening(const ProcessSnapshot& of, const OpenFile& file) {
  const auto socket = file.kind == FileKind::Socket && file.inode
                          ? of.world.tcp_socket(of.pid, file.inode)
                          : std::nullopt;
  return socket && socket->state == TcpState::Listen;
}

}  // namespace

Found events(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const AwaitedFiles awaited = awaited_files(of, thread);
  if (!awaited.any) {
    return std::nullopt;
  }
  const bool accepts =
      thread.sleeps_in("accept") || thread.sleeps_in("accept4");
  // Who accepts without a loop of events may want one peer, and no other work.
  const bool serves =
      !accepts &&
      std::ranges::any_of(awaited.files, [&](const AwaitedFile& one) {
        return is_listening(of, one.file);
      });
  return Cause{
      .id = serves ? CauseId::Serves : CauseId::Idle,
      .progress = Progress::Idle,
      .confidence = Confidence::Likely,
      .summary =
          serves || accepts
              ? "waits for a connection"
              : fmt::format(
                    "waits for events on {} {}", awaited.files.size(),
                    awaited.files.size() == 1 ? "descriptor" : "descriptors"),
      .evidence = {
          fmt::format("{} at {}", thread.wait.syscall, thread.place())}};
}

}  // namespace hangdbg::causes
