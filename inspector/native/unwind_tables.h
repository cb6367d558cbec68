// UnwindTables: where libunwind looks up how a module's functions are unwound:
// the table in its .eh_frame_hdr, in the target's memory; for a module without
// one, a table that we make, which libunwind reads as if it were there too.
#pragma once

#include <libunwind-x86_64.h>

#include <cstddef>
#include <vector>

#include "base/result.h"
#include "inspector/native/frame_table.h"
#include "tracee/memory/memory.h"
#include "tracee/proc/proc_maps.h"

namespace hangdbg {

class UnwindTables {
 public:
  // Both must outlive this.
  UnwindTables(const MemoryReader& memory, const std::vector<Module>& modules)
      : memory_(memory), modules_(modules), tables_(modules.size()) {}

  // Made when first needed. Null: the module has none that can be used.
  unw_dyn_info_t* find(std::size_t module);

  // Of the target's memory, or of a table of ours. Error: Unreadable.
  Result<unw_word_t> read_word(Address at) const;

 private:
  struct Table {
    bool tried = false;
    bool usable = false;
    unw_dyn_info_t info{};
    std::vector<FrameTableEntry> own;  // where the module has none
  };
  void read(std::size_t module, Table& table);
  void make(std::size_t module, Table& table);

  const MemoryReader& memory_;
  const std::vector<Module>& modules_;
  std::vector<Table> tables_;
};

}  // namespace hangdbg
