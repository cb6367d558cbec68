#include "inspector/native/unwind_tables.h"

#include <algorithm>
#include <bit>

#include "tracee/elf/elf_symbols.h"

namespace hangdbg {
namespace {

// .eh_frame_hdr (Linux Standard Base, "Exception Frames"): with the encodings
// that every linker emits.
struct EhFrameHdr {
  std::uint8_t version;
  std::uint8_t eh_frame_encoding;
  std::uint8_t count_encoding;
  std::uint8_t table_encoding;
  std::int32_t eh_frame;
  std::uint32_t count;
};
static_assert(sizeof(EhFrameHdr) == 12);
constexpr std::uint8_t kUdata4 = 0x03;         // DW_EH_PE_udata4
constexpr std::uint8_t kSdata4 = 0x0b;         // DW_EH_PE_sdata4
constexpr std::uint8_t kDatarelSdata4 = 0x3b;  // DW_EH_PE_datarel | sdata4
constexpr std::uint64_t kTableEntrySize = 8;

// Where libunwind finds the tables that we have made, each in its own 4 GiB: no
// program has memory there.
constexpr std::uint64_t kOwnTables = 1ULL << 63;
constexpr int kOwnTableBits = 32;

}  // namespace

unw_dyn_info_t* UnwindTables::find(std::size_t module) {
  Table& table = tables_[module];
  if (!table.tried) {
    table.tried = true;
    read(module, table);
  }
  return table.usable ? &table.info : nullptr;
}

void UnwindTables::read(std::size_t module, Table& table) {
  const auto image = ElfImage::read(memory_, modules_[module].base);
  if (!image) {
    return;
  }
  const AddressRange section = image->eh_frame_hdr();
  if (!section.start) {
    make(module, table);
    return;
  }
  if (section.end.value < section.start.value + sizeof(EhFrameHdr)) {
    return;
  }
  const auto header = memory_.read_value<EhFrameHdr>(section.start);
  if (!header || header->version != 1 || header->count_encoding != kUdata4 ||
      header->table_encoding != kDatarelSdata4 ||
      (header->eh_frame_encoding & 0x0f) != kSdata4) {
    return;
  }
  const std::uint64_t room =
      (section.end - section.start - sizeof(EhFrameHdr)) / kTableEntrySize;
  const std::uint64_t count = std::min<std::uint64_t>(header->count, room);
  if (count == 0) {
    return;
  }
  table.info.format = UNW_INFO_FORMAT_REMOTE_TABLE;
  table.info.start_ip = modules_[module].base.value;
  table.info.end_ip = modules_[module].end.value;
  table.info.u.rti.segbase = section.start.value;
  table.info.u.rti.table_data = section.start.value + sizeof(EhFrameHdr);
  table.info.u.rti.table_len = count * kTableEntrySize / sizeof(unw_word_t);
  table.usable = true;
}

void UnwindTables::make(std::size_t module, Table& table) {
  table.own = find_frame_table(memory_, modules_[module]);
  table.info.format = UNW_INFO_FORMAT_REMOTE_TABLE;
  table.info.start_ip = modules_[module].base.value;
  table.info.end_ip = modules_[module].end.value;
  table.info.u.rti.segbase = modules_[module].base.value;
  table.info.u.rti.table_data = kOwnTables | (module << kOwnTableBits);
  table.info.u.rti.table_len = table.own.size();
  static_assert(sizeof(FrameTableEntry) == sizeof(unw_word_t));
  table.usable = !table.own.empty();
}

Result<unw_word_t> UnwindTables::read_word(Address at) const {
  const std::uint64_t module = (at.value & ~kOwnTables) >> kOwnTableBits;
  const std::uint64_t entry = (at.value & ((1ULL << kOwnTableBits) - 1)) / 8;
  const bool ours = at.value >= kOwnTables && module < tables_.size() &&
                    entry < tables_[module].own.size();
  return ours ? std::bit_cast<unw_word_t>(tables_[module].own[entry])
              : memory_.read_value<unw_word_t>(at);
}

}  // namespace hangdbg
