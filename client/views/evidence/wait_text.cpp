#include "client/views/evidence/wait_text.h"

#include <fmt/core.h>

#include "base/text.h"
#include "client/views/evidence/descriptor.h"
#include "diagnosis/evidence/awaited_lock.h"

namespace hangdbg {

std::string wait_text(const SeenThread& thread, std::size_t unseen_pipes) {
  if (thread.lock) {
    return describe(*thread.lock);
  }
  if (thread.collective) {
    return call_words(*thread.collective);
  }
  if (thread.call.empty()) {
    return thread.state == 'R' ? "" : thread.doing;
  }
  if (thread.files.empty()) {
    return thread.doing;
  }
  const Descriptor& file = thread.files.front();
  return fmt::format("{} {} = {}", thread.call, file.file.fd,
                     descriptor_text(file, unseen_pipes,
                                     Palette(ColourChoice::Never, stdout)));
}

std::string wait_reason(const SeenThread& thread, std::size_t unseen_pipes) {
  if (thread.lock) {
    SeenLock lock = *thread.lock;
    const bool one_owner =
        lock.kind == LockKind::Lock || lock.kind == LockKind::RLock;
    if (one_owner && lock.owners.size() > 1) {
      lock.owners.clear();
      lock.note = "its owner changed while it was looked at";
    }
    return "waits for " + describe(lock);
  }
  if (thread.collective) {
    return "waits in " + printable(call_words(*thread.collective));
  }
  if (thread.call.empty()) {
    return thread.state == 'T' || thread.state == 't' ? "is stopped"
                                                      : "waits in no system "
                                                        "call";
  }
  const std::string text = "waits in " + thread.call;
  if (thread.files.empty()) {
    return text;
  }
  Descriptor file = thread.files.front();
  file.file.count.reset();
  if (file.tcp) {
    file.tcp->unread = file.tcp->unacknowledged = 0;
    file.tcp->retransmits = 0;
  }
  return fmt::format("{}, {} = {}", text, file.file.fd,
                     descriptor_text(file, unseen_pipes,
                                     Palette(ColourChoice::Never, stdout)));
}

}  // namespace hangdbg
