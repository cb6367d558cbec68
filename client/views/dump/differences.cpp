#include "client/views/dump/differences.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace hangdbg {
namespace {

const DumpedThread* main_thread(const ProcessDump& dump) {
  const auto main = std::ranges::find(dump.threads, std::optional(dump.pid),
                                      &DumpedThread::tid);
  const bool is_rank = !(dump.rank && dump.rank->child);
  return is_rank && main != dump.threads.end() ? &*main : nullptr;
}

// Of its frame so far from the outermost one, if that is the one meant.
const std::vector<DumpedVariable>* locals_at(const DumpedThread& thread,
                                             std::size_t level,
                                             const StackPlace& place) {
  const auto entries = thread.entries();
  if (level >= entries.size()) {
    return nullptr;
  }
  const StackEntry& entry = entries[entries.size() - 1 - level];
  if (entry.kind == StackEntry::Kind::Native ||
      entry.frame >= thread.locals.size()) {
    return nullptr;
  }
  const PythonFrame& frame = thread.stack.frames[entry.frame];
  return frame.qualname == place.function && frame.file == place.file
             ? &thread.locals[entry.frame]
             : nullptr;
}

// "<_thread.lock object at 0x7f6b873a7c90>" has another address in each
// process, and is the same.
std::string without_addresses(const std::string& text) {
  constexpr std::string_view kMark = " at 0x";
  std::string out;
  for (std::size_t at = 0;;) {
    const auto mark = text.find(kMark, at);
    out.append(text, at, mark - at);
    if (mark == text.npos) {
      return out;
    }
    at = std::min(
        text.find_first_not_of("0123456789abcdef", mark + kMark.size()),
        text.size());
  }
}

}  // namespace

std::optional<Differences> differing_locals(
    const std::vector<ProcessDump>& dumps,
    const StackTree& tree,
    MemberOf member) {
  if (tree.odd.empty()) {
    return std::nullopt;
  }
  const auto& here = tree.odd.front().here.way;
  const auto& most = tree.classes.front().way;
  std::size_t level = tree.odd.front().fork;
  const bool same = level < here.size() && level < most.size() &&
                    here[level].function == most[level].function &&
                    here[level].file == most[level].file;
  if (!same && level-- == 0) {
    return std::nullopt;
  }
  Differences found{here[level], {}};
  std::map<std::string, DifferingLocal> by_name;
  std::vector<std::string> order;
  for (const ProcessDump& dump : dumps) {
    const DumpedThread* const thread = main_thread(dump);
    const auto* const locals =
        thread != nullptr ? locals_at(*thread, level, found.place) : nullptr;
    if (locals == nullptr) {
      continue;
    }
    for (const DumpedVariable& variable : *locals) {
      auto [known, is_new] =
          by_name.try_emplace(variable.name, DifferingLocal{variable.name, {}});
      if (is_new) {
        order.push_back(variable.name);
      }
      auto& values = known->second.values;
      const std::string text = without_addresses(variable.text);
      auto value = std::ranges::find(values, text,
                                     &std::pair<std::string, RankSet>::first);
      if (value == values.end()) {
        value = values.insert(value, {text, {}});
      }
      value->second.add(member(dump));
    }
  }
  for (const std::string& name : order) {
    if (by_name[name].values.size() > 1) {
      found.locals.push_back(std::move(by_name[name]));
    }
  }
  return found;
}

}  // namespace hangdbg
