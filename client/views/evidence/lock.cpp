#include "client/views/evidence/lock.h"

#include <fmt/core.h>

namespace hangdbg {

reports::SeenLock to_json(const SeenLock& from) {
  reports::SeenLock json{.kind = std::string(lock_kind_name(from.kind)),
                         .name = from.name,
                         .count = static_cast<std::int64_t>(from.count)};
  if (from.address) {
    json.address = fmt::format("{:#x}", from.address.value);
  }
  for (const LockOwner& owner : from.owners) {
    json.owners.push_back(
        {owner.id.pid, owner.id.tid, owner.who, owner.state, owner.place});
  }
  if (from.owner_in_parent) {
    json.owner_in_parent = reports::ThreadNumber{from.owner_in_parent->pid,
                                                 from.owner_in_parent->tid};
  }
  if (!from.note.empty()) {
    json.note = from.note;
  }
  return json;
}

}  // namespace hangdbg
