#include "inspector/cpython/runtime/proved_layout.h"

#include <fmt/core.h>

#include <chrono>
#include <string_view>
#include <thread>
#include <utility>

#include "base/deadline.h"
#include "base/log.h"
#include "inspector/cpython/runtime/proof.h"
#include "tracee/memory/cached_memory.h"

namespace hangdbg {
namespace {

// Its frames change meanwhile; and a thread that the kernel has put aside amid
// a call stays there until its turn comes, on a busy machine for long. Threads
// begin and end seldom: where none is proved, the table is a wrong one.
constexpr int kTriesAtOnce = 10;
constexpr int kTriesWithoutThreads = 50;
constexpr auto kBetweenTries = std::chrono::milliseconds(10);
constexpr auto kLongest = std::chrono::seconds(3);

bool failed(const Proof& proof, std::string_view step) {
  log::debug(log::Area::Inspector,
             "no proof of {}: {} threads, {} frames, {} codes, {} reads left",
             step, proof.threads.size(), proof.frames.size(),
             proof.codes.size(), proof.left);
  return false;
}

bool prove(Proof& proof, const std::vector<TableTexts>& texts) {
  if (!proof.find_threads()) {
    return failed(proof, "threads");
  }
  if (!proof.find_frames()) {
    return failed(proof, "frames");
  }
  if (!proof.find_instructions()) {
    return failed(proof, "instructions");
  }
  if (!proof.find_thread_numbers()) {
    return failed(proof, "threads' numbers");
  }
  for (const TableTexts& one : texts) {
    if (proof.find_code_fields(one)) {
      proof.find_gil();
      proof.find_dicts();
      proof.find_variables();
      return true;
    }
  }
  return failed(proof, "code's fields");
}

// The newest row's, but for what the table says and for what only that version
// has at that place.
ObjectLayout objects_of(const Proof& proof) {
  constexpr std::uint32_t kAbsent = ObjectLayout::kAbsent;
  ObjectLayout at = proof.objects;
  at.object_size = proof.offset(proof.groups.object);
  at.size = at.object_size;
  at.type_name = proof.offset(proof.groups.object + 3);
  at.interpreter_collecting = kAbsent;
  at.interpreter_gc = kAbsent;
  at.interpreter_tasks = kAbsent;
  at.thread_tasks = kAbsent;
  at.thread_running_loop = kAbsent;
  at.thread_exception = kAbsent;
  return at;
}

std::string version_text(std::uint64_t version) {
  return fmt::format("{}.{}.{}", version >> 24 & 0xff, version >> 16 & 0xff,
                     version >> 8 & 0xff);
}

// The one layout that memory proves. None, too, where it proves two.
std::optional<ProvedLayout> try_once(const MemoryReader& live,
                                     const UnknownTable& table,
                                     Address runtime,
                                     std::optional<Address> code_type,
                                     bool& has_threads) {
  const CachedMemory memory(live);
  std::optional<ProvedLayout> found;
  for (const TableGroups& groups : possible_groups(table)) {
    Proof proof{.memory = memory,
                .table = table,
                .groups = groups,
                .runtime = runtime,
                .code_type = code_type.value_or(Address{})};
    take_told_objects(table, groups, proof.objects);
    const bool is_proved = prove(proof, possible_texts(table, groups));
    has_threads |= !proof.threads.empty();
    if (!is_proved) {
      continue;
    }
    proof.at.minor = static_cast<int>(table.version >> 16 & 0xff);
    if (proof.at.interpreter_id == CPythonLayout::kAbsent &&
        proof.interpreters.size() > 1) {
      proof.unproved.emplace_back("interpreters' numbers");
    }
    ProvedLayout proved{table.version,     table.free_threaded,
                        proof.at,          proof.code_type,
                        objects_of(proof), std::move(proof.unproved)};
    if (found && found->layout != proved.layout) {
      failed(proof, "one layout: two fit");
      return {};
    }
    found = std::move(proved);
  }
  return found;
}

}  // namespace

Result<ProvedLayout> prove_layout(const MemoryReader& memory,
                                  Address runtime,
                                  std::optional<Address> code_type) {
  const UnknownTable table = TRY(read_unknown_table(memory, runtime));
  const auto major = table.version >> 24;
  const auto minor = table.version >> 16 & 0xff;
  if (major != 3 || minor < 13 || minor > 99) {
    return fail(ErrorId::UnsupportedPython,
                fmt::format("the debug offsets have version {:#x}, which is "
                            "none",
                            table.version));
  }
  bool has_threads = false;
  const Deadline deadline = Deadline::in(kLongest);
  for (int tried = 0;
       tried < kTriesWithoutThreads || (has_threads && !deadline.expired());
       ++tried) {
    if (auto proved =
            try_once(memory, table, runtime, code_type, has_threads)) {
      return *std::move(proved);
    }
    if (!memory.changes() && tried >= kTriesAtOnce) {
      break;
    }
    if (tried >= kTriesAtOnce) {
      std::this_thread::sleep_for(kBetweenTries);
    }
  }
  return fail(ErrorId::UnsupportedPython,
              fmt::format("python {} is not known to this hangdbg, and the "
                          "table of offsets in it does not fit its memory",
                          version_text(table.version)),
              "try again if it has just started; a newer hangdbg may know it");
}

}  // namespace hangdbg
