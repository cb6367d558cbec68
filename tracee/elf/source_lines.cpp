#include "tracee/elf/source_lines.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tracee/elf/dwarf_cursor.h"
#include "tracee/elf/elf_file.h"
#include "tracee/elf/module_file.h"
#include "tracee/elf/unit_ranges.h"

namespace hangdbg {
namespace {

using Bytes = std::span<const std::byte>;

// Standard and extended opcodes, and the forms that paths have (DWARF 5, 7.5.6
// and 7.22).
constexpr std::uint8_t kCopy = 1;
constexpr std::uint8_t kAdvancePc = 2;
constexpr std::uint8_t kAdvanceLine = 3;
constexpr std::uint8_t kSetFile = 4;
constexpr std::uint8_t kConstAddPc = 8;
constexpr std::uint8_t kFixedAdvancePc = 9;
constexpr std::uint8_t kEndSequence = 1;
constexpr std::uint8_t kSetAddress = 2;
constexpr std::uint64_t kPath = 1;
constexpr std::uint64_t kFolderIndex = 2;
enum Form : std::uint64_t {
  kData2 = 0x05,
  kData4 = 0x06,
  kData8 = 0x07,
  kString = 0x08,
  kBlock = 0x09,
  kData1 = 0x0b,
  kStrp = 0x0e,
  kUdata = 0x0f,
  kData16 = 0x1e,
  kLineStrp = 0x1f,
};

constexpr std::uint64_t kMaxLine = 1U << 30;
constexpr std::uint64_t kMaxPaths = 1U << 16;  // of one unit

// How often an address may be met, by all units together: each is in one place,
// but a table may say otherwise.
constexpr std::uint64_t kMaxMeetings = 1'000'000;

std::string_view text_at(Bytes section, std::uint64_t offset) {
  return offset < section.size() ? DwarfCursor(section.subspan(offset)).text()
                                 : std::string_view();
}

// A requested address, as the file has it.
struct WantedAddress {
  std::uint64_t code = 0;
  std::uint64_t file = 0;  // in the tables of its unit
  int line = 0;            // 0: none yet

  bool operator<(std::uint64_t other) const { return code < other; }
};

// The head of one compilation unit's table, and its program.
struct Unit {
  int version = 0;
  bool wide = false;          // 64-bit DWARF
  std::uint8_t shortest = 1;  // instruction
  std::int8_t line_base = 0;
  std::uint8_t line_range = 0;
  std::uint8_t opcode_base = 0;
  Bytes arguments;  // of each standard opcode, how many
  Bytes paths;
  Bytes program;

  std::uint64_t offset(DwarfCursor& at) const {
    return wide ? at.take<std::uint64_t>() : at.take<std::uint32_t>();
  }
};

std::optional<Unit> read_unit(Bytes bytes, bool wide) {
  Unit unit{.wide = wide};
  DwarfCursor at(bytes);
  unit.version = at.take<std::uint16_t>();
  if (unit.version >= 5) {
    at.skip(2);  // how large an address and a segment selector are
  }
  const std::uint64_t size = unit.offset(at);
  DwarfCursor head(at.skip(size));
  unit.program = at.rest();
  unit.shortest = head.take<std::uint8_t>();
  if (unit.version >= 4) {
    head.skip(1);  // instructions of a bundle: x86 has none
  }
  head.skip(1);  // whether a line is a statement
  unit.line_base = head.take<std::int8_t>();
  unit.line_range = head.take<std::uint8_t>();
  unit.opcode_base = head.take<std::uint8_t>();
  unit.arguments = head.skip(std::max<std::uint8_t>(unit.opcode_base, 1) - 1U);
  unit.paths = head.rest();
  const bool known = unit.version >= 2 && unit.version <= 5 &&
                     unit.line_range != 0 && unit.opcode_base != 0;
  return known && !head.failed() && !at.failed() ? std::optional(unit)
                                                 : std::nullopt;
}

// Runs a unit's program: it says from which address on each line is. Returns
// those of `wanted` (sorted) that it has met.
class Program {
 public:
  Program(const Unit& unit,
          std::span<WantedAddress> wanted,
          const OtherUnits& others,
          std::uint64_t& meetings_left)
      : unit_(unit),
        wanted_(wanted),
        others_(others),
        next_(wanted.end()),
        meetings_left_(meetings_left) {}

  std::vector<WantedAddress*> run() {
    DwarfCursor at(unit_.program);
    while (!at.done() && !idle_ && meetings_left_ > 0) {
      const auto opcode = at.take<std::uint8_t>();
      if (opcode >= unit_.opcode_base) {
        const int special = opcode - unit_.opcode_base;
        advance(static_cast<std::uint64_t>(special / unit_.line_range));
        add_lines(unit_.line_base + special % unit_.line_range);
        add_row();
      } else if (opcode == 0) {
        extended(DwarfCursor(at.skip(at.leb128())));
      } else {
        standard(opcode, at);
      }
    }
    return std::move(met_);
  }

 private:
  struct Row {
    std::uint64_t address = 0;
    std::uint64_t file = 1;
    std::uint64_t line = 1;  // goes up and down, and around if the table lies
  };

  void advance(std::uint64_t instructions) {
    now_.address += instructions * unit_.shortest;
  }

  void add_lines(std::int64_t lines) {
    now_.line += static_cast<std::uint64_t>(lines);
  }

  void extended(DwarfCursor at) {
    const auto opcode = at.take<std::uint8_t>();
    if (opcode == kEndSequence) {
      add_row();
      now_ = {};
      begun_ = false;
    } else if (opcode == kSetAddress) {
      now_.address = at.take<std::uint64_t>();
    }
  }

  void standard(std::uint8_t opcode, DwarfCursor& at) {
    switch (opcode) {
      case kCopy:
        add_row();
        break;
      case kAdvancePc:
        advance(at.leb128());
        break;
      case kAdvanceLine:
        add_lines(at.signed_leb128());
        break;
      case kSetFile:
        now_.file = at.leb128();
        break;
      case kConstAddPc:
        advance((255U - unit_.opcode_base) / unit_.line_range);
        break;
      case kFixedAdvancePc:
        now_.address += at.take<std::uint16_t>();
        break;
      default:
        for (auto left = static_cast<unsigned>(unit_.arguments[opcode - 1U]);
             left > 0; --left) {
          at.leb128();
        }
        break;
    }
  }

  // From the last row to here was that row's line. Functions that the linker
  // has dropped begin at 0.
  void add_row() {
    if (!begun_) {
      next_ = std::lower_bound(wanted_.begin(), wanted_.end(), now_.address);
      begun_ = true;
      dropped_ = now_.address == 0;
      idle_ = !dropped_ && others_.have(now_.address);
    } else if (!dropped_) {
      for (; next_ != wanted_.end() && next_->code < now_.address &&
             meetings_left_ > 0;
           ++next_, --meetings_left_) {
        if (next_->line == 0 && next_->code >= last_.address &&
            last_.line > 0 && last_.line <= kMaxLine) {
          next_->file = last_.file;
          next_->line = static_cast<int>(last_.line);
          met_.push_back(&*next_);
        }
      }
    }
    last_ = now_;
  }

  const Unit& unit_;
  std::span<WantedAddress> wanted_;
  const OtherUnits& others_;
  std::span<WantedAddress>::iterator next_;
  std::uint64_t& meetings_left_;
  std::vector<WantedAddress*> met_;
  Row now_;
  Row last_;
  bool begun_ = false;    // with a sequence of rows
  bool dropped_ = false;  // its function
  bool idle_ = false;     // the unit has nothing that is requested
};

// The folders and files that a unit's rows name by number.
class Paths {
 public:
  Paths(const LineSections& sections, const Unit& unit)
      : sections_(sections), unit_(unit) {
    DwarfCursor at(unit.paths);
    if (unit.version >= 5) {
      folders_ = read_entries(at);
      files_ = read_entries(at);
    } else {
      read_old(at);
    }
  }

  std::string file(std::uint64_t number) const {
    if (number >= files_.size()) {
      return {};
    }
    const Path& found = files_[number];
    const std::string path = below(found.folder, std::string(found.name));
    return std::filesystem::path(found.folder == 0 ? path : below(0, path))
        .lexically_normal();
  }

 private:
  struct Path {
    std::string_view name;
    std::uint64_t folder = 0;
  };

  std::string below(std::uint64_t folder, std::string path) const {
    const bool known = folder < folders_.size() &&
                       !folders_[folder].name.empty() && !path.starts_with('/');
    return known ? std::string(folders_[folder].name) + '/' + path : path;
  }

  // Folder 0 is where the compiler ran; before version 5 it is told elsewhere.
  void read_old(DwarfCursor& at) {
    folders_.push_back({});
    files_.push_back({});
    for (auto name = at.text(); !name.empty() && folders_.size() < kMaxPaths;
         name = at.text()) {
      folders_.push_back({name});
    }
    for (auto name = at.text(); !name.empty() && files_.size() < kMaxPaths;
         name = at.text()) {
      files_.push_back({name, at.leb128()});
      at.leb128();  // its time
      at.leb128();  // its size
    }
  }

  std::vector<Path> read_entries(DwarfCursor& at) const {
    struct Field {
      std::uint64_t content;
      std::uint64_t form;
    };
    std::vector<Field> fields(at.take<std::uint8_t>());
    for (Field& field : fields) {
      field.content = at.leb128();
      field.form = at.leb128();
    }
    std::vector<Path> paths(std::min(at.leb128(), kMaxPaths));
    for (Path& path : paths) {
      for (const Field& field : fields) {
        if (field.content == kPath) {
          path.name = text(at, field.form);
        } else if (field.content == kFolderIndex) {
          path.folder = number(at, field.form);
        } else {
          number(at, field.form);
        }
      }
      if (at.failed()) {
        return {};
      }
    }
    return paths;
  }

  std::string_view text(DwarfCursor& at, std::uint64_t form) const {
    switch (form) {
      case kString:
        return at.text();
      case kLineStrp:
        return text_at(sections_.line_strings, unit_.offset(at));
      default:
        number(at, form);
        return {};
    }
  }

  std::uint64_t number(DwarfCursor& at, std::uint64_t form) const {
    switch (form) {
      case kData1:
        return at.take<std::uint8_t>();
      case kData2:
        return at.take<std::uint16_t>();
      case kData4:
        return at.take<std::uint32_t>();
      case kData8:
        return at.take<std::uint64_t>();
      case kUdata:
        return at.leb128();
      case kData16:
        at.skip(16);
        return 0;
      case kBlock:
        at.skip(at.leb128());
        return 0;
      case kString:
        at.text();
        return 0;
      case kLineStrp:
      case kStrp:
        return unit_.offset(at);
      default:
        at.skip(~std::uint64_t{0});  // how large it is we cannot know
        return 0;
    }
  }

  const LineSections& sections_;
  const Unit& unit_;
  std::vector<Path> folders_;
  std::vector<Path> files_;
};

SourceLines lines_in(const MemoryReader& bytes,
                     std::uint64_t bias,
                     std::span<const Address> code) {
  const auto file = ElfFile::read(bytes);
  auto lines =
      file ? file->open_section(".debug_line") : std::unexpected(file.error());
  if (!lines) {
    return {};
  }
  const auto none = std::vector<std::byte>();
  const auto line_strings = file->section(".debug_line_str").value_or(none);
  const auto ranges = file->section(".debug_aranges").value_or(none);
  return source_lines({*lines, line_strings, ranges}, bias, code);
}

// The next unit's table without its length; none where the section ends or is
// cut off.
struct NextUnit {
  Bytes bytes;
  bool wide = false;
};
std::optional<NextUnit> next_unit(SectionReader& lines,
                                  std::vector<std::byte>& buffer) {
  const auto number = [&](auto value) {
    const bool read =
        lines.read(std::as_writable_bytes(std::span(&value, 1))).has_value();
    return read ? std::optional<std::uint64_t>(value) : std::nullopt;
  };
  auto size = number(std::uint32_t{});
  const bool wide = size == 0xffff'ffff;
  if (wide) {
    size = number(std::uint64_t{});
  }
  if (!size || *size > lines.left()) {
    return {};
  }
  buffer.resize(*size);
  return lines.read(buffer) ? std::optional(NextUnit{buffer, wide})
                            : std::nullopt;
}

}  // namespace

SourceLines source_lines(const TargetFiles& files,
                         const MemoryReader& memory,
                         const Module& module,
                         std::span<const Address> code) {
  const auto image = ElfImage::read(memory, module.base);
  if (!image) {
    return {};
  }
  const auto own = open_module_file(files, memory, module, *image);
  auto lines = own ? lines_in(own->bytes, image->bias(), code) : SourceLines();
  if (lines.empty()) {
    if (const auto debug = open_debug_file(files, memory, module, *image,
                                           own ? &own->bytes : nullptr)) {
      lines = lines_in(debug->bytes, image->bias(), code);
    }
  }
  return lines;
}

SourceLines source_lines(const LineSections& sections,
                         std::uint64_t bias,
                         std::span<const Address> code) {
  std::vector<WantedAddress> wanted;
  for (const Address at : code) {
    wanted.push_back({.code = at.value - bias});
  }
  std::ranges::sort(wanted, {}, &WantedAddress::code);
  std::vector<std::uint64_t> asked;
  std::ranges::transform(wanted, std::back_inserter(asked),
                         &WantedAddress::code);
  const OtherUnits others(sections.ranges, asked);
  SourceLines lines;
  std::uint64_t meetings_left = kMaxMeetings;
  std::size_t unmet = wanted.size();
  std::vector<std::byte> buffer;
  while (unmet > 0) {
    const auto next = next_unit(sections.lines, buffer);
    if (!next) {
      break;
    }
    const auto unit = read_unit(next->bytes, next->wide);
    if (!unit) {
      continue;
    }
    const auto met = Program(*unit, wanted, others, meetings_left).run();
    unmet -= met.size();
    if (met.empty()) {
      continue;
    }
    const Paths paths(sections, *unit);
    for (const WantedAddress* each : met) {
      if (auto file = paths.file(each->file); !file.empty()) {
        lines.insert_or_assign(Address{each->code + bias},
                               SourceLine{std::move(file), each->line});
      }
    }
  }
  return lines;
}

}  // namespace hangdbg
