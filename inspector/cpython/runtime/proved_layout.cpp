#include "inspector/cpython/runtime/proved_layout.h"

#include <fmt/core.h>

#include <utility>

#include "inspector/cpython/runtime/proof.h"
#include "tracee/memory/cached_memory.h"

namespace hangdbg {
namespace {

constexpr int kProofTries = 50;  // its threads and frames change meanwhile

bool prove(Proof& proof, const std::vector<TableTexts>& texts) {
  if (!proof.find_threads() || !proof.find_frames() ||
      !proof.find_instructions() || !proof.find_thread_numbers()) {
    return false;
  }
  for (const TableTexts& one : texts) {
    if (proof.find_code_fields(one)) {
      proof.find_gil();
      proof.find_dicts();
      proof.find_variables();
      return true;
    }
  }
  return false;
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
                                     std::optional<Address> code_type) {
  const CachedMemory memory(live);
  std::optional<ProvedLayout> found;
  for (const TableGroups& groups : possible_groups(table)) {
    Proof proof{.memory = memory,
                .table = table,
                .groups = groups,
                .runtime = runtime,
                .code_type = code_type.value_or(Address{})};
    take_told_objects(table, groups, proof.objects);
    if (!prove(proof, possible_texts(table, groups))) {
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
  for (int tried = 0; tried < kProofTries; ++tried) {
    if (auto proved = try_once(memory, table, runtime, code_type)) {
      return *std::move(proved);
    }
  }
  return fail(ErrorId::UnsupportedPython,
              fmt::format("python {} is not known to this hangdbg, and the "
                          "table of offsets in it does not fit its memory",
                          version_text(table.version)),
              "try again if it has just started; a newer hangdbg may know it");
}

}  // namespace hangdbg
