#include "client/views/evidence/locks.h"

#include <fmt/core.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/text.h"
#include "client/views/evidence/lock.h"
#include "protocol/reports/locks.h"

namespace hangdbg {
namespace {

std::string lock_head(const SeenLock& lock) {
  std::string text(lock_kind_name(lock.kind));
  if (lock.kind == LockKind::Mutex) {
    text = lock.name + " " + text;
  } else if (lock.kind == LockKind::File) {
    text += " on " + printable(lock.name);
  } else if (!lock.name.empty()) {
    text += fmt::format(" `{}`", printable(lock.name));
  }
  if (lock.address) {
    text += fmt::format(" at {:#x}", lock.address.value);
  }
  return lock.count > 1 ? text + fmt::format(", {} times over", lock.count)
                        : text;
}

std::string one_text(const std::string& who,
                     const std::string& state,
                     const std::string& place) {
  return fmt::format("{}{}{}{}{}", who, state.empty() ? "" : ", ", state,
                     place.empty() ? "" : ", at ", printable(place));
}

std::string lock_line(std::string_view label,
                      const std::string& text,
                      const Palette& out) {
  return fmt::format("    {} {}\n", out.dim(fmt::format("{:<10}", label)),
                     text);
}

std::string held_lock_text(const KnownLock& known, const Palette& out) {
  std::string text = out.bold(lock_head(known.lock)) + "\n";
  for (const LockOwner& owner : known.lock.owners) {
    text += lock_line("held by", one_text(owner.who, owner.state, owner.place),
                      out);
  }
  if (!known.lock.note.empty()) {
    const std::string note = printable(known.lock.note);
    text += lock_line(known.lock.owners.empty() ? "held" : "",
                      known.lock.owners.empty() ? out.red(note) : note, out);
  }
  for (const LockWaiter& waiter : known.waiters) {
    text += lock_line("awaited by",
                      one_text(waiter.who, waiter.state, waiter.place), out);
  }
  return text;
}

std::string format_cycle(const DeadlockCycle& circle, const Palette& out) {
  std::string text;
  for (const DeadlockCycle::WaitEdge& link : circle.links) {
    text += fmt::format("{}{} waits for {}", text.empty() ? "circle: " : "; ",
                        link.who, link.waits_for);
  }
  return out.red(printable(text)) + "\n";
}

}  // namespace

std::string locks_text(const SeenLocks& all, const Palette& out) {
  std::string title = all.title;
  title[0] = 'P';
  std::string text =
      out.bold(fmt::format("{}{}{} · {} lock{} seen", printable(title),
                           all.python.empty() ? "" : " · python ", all.python,
                           all.locks.size(), all.locks.size() == 1 ? "" : "s"));
  text += "\n";
  for (const DeadlockCycle& circle : all.circles) {
    text += format_cycle(circle, out);
  }
  for (const KnownLock& known : all.locks) {
    text += held_lock_text(known, out);
  }
  for (const std::string& one : all.skipped) {
    text += out.dim(fmt::format("not seen: {}", printable(one))) + "\n";
  }
  return text;
}

Json locks_json(const SeenLocks& all) {
  reports::Locks json{.pid = all.pid, .skipped = all.skipped};
  if (!all.python.empty()) {
    json.python = all.python;
  }
  for (const KnownLock& known : all.locks) {
    reports::KnownLock one{.lock = to_json(known.lock)};
    for (const LockWaiter& waiter : known.waiters) {
      one.waiters.push_back({waiter.id.pid, waiter.id.tid, waiter.who,
                             waiter.state, waiter.place, waiter.waiting_s});
    }
    json.locks.push_back(std::move(one));
  }
  for (const DeadlockCycle& circle : all.circles) {
    auto& links = json.circles.emplace_back();
    for (const DeadlockCycle::WaitEdge& link : circle.links) {
      links.push_back({link.id.pid, link.id.tid, link.who, link.waits_for});
    }
  }
  return encode(json);
}

}  // namespace hangdbg
