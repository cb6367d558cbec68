#include "inspector/jobs/torch/cpp_object.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/text.h"
#include "tracee/elf/elf_symbols.h"

namespace hangdbg {
namespace {

constexpr std::size_t kWord = 8;
constexpr std::size_t kCppObjectPage = 4096;
constexpr std::size_t kCppObjectMostBases = 8;
constexpr std::size_t kLongestName = 300;
constexpr std::size_t kMostClasses = 10'000;  // of addresses that were asked

}  // namespace

bool CppObjects::Class::is_a(std::string_view wanted) const {
  return name == wanted || std::ranges::find(bases, wanted) != bases.end();
}

const CppObjects::Class* CppObjects::class_of(Address object) const {
  const auto table = memory_.read_address(object);
  // Tables are part of a library: what points outside is no object.
  if (object.value % kWord != 0 || !table || table->value % kWord != 0 ||
      std::ranges::none_of(modules_, [&](const Module& module) {
        return module.contains(*table);
      })) {
    return nullptr;
  }
  auto known = classes_.find(*table);
  if (known == classes_.end()) {
    if (classes_.size() >= kMostClasses) {
      return nullptr;
    }
    known = classes_.try_emplace(*table).first;
    auto type_info = memory_.read_address(*table - kWord);
    auto name = type_info ? name_of(*type_info) : std::nullopt;
    if (name) {
      known->second = Class{.name = *std::move(name), .bases = {}};
    }
    // A class with one base has its type_info behind its own name.
    while (known->second && known->second->bases.size() < kCppObjectMostBases) {
      type_info = memory_.read_address(*type_info + 2 * kWord);
      name = type_info ? name_of(*type_info) : std::nullopt;
      if (!name) {
        break;
      }
      known->second->bases.push_back(*std::move(name));
    }
  }
  return known->second ? &*known->second : nullptr;
}

std::vector<Address> CppObjects::words_of(Address object,
                                          std::size_t most) const {
  std::vector<Address> words;
  std::array<std::uint64_t, kCppObjectPage / kWord> page{};
  for (Address at = object; words.size() < most;) {
    const std::size_t room =
        (kCppObjectPage - at.value % kCppObjectPage) / kWord;
    const auto piece =
        std::span(page).first(std::min(room, most - words.size()));
    if (piece.empty() || !memory_.read(at, std::as_writable_bytes(piece))) {
      break;
    }
    for (const std::uint64_t word : piece) {
      if (!words.empty() && word == words.front().value) {
        return words;
      }
      words.push_back({word});
    }
    at = at + piece.size() * kWord;
  }
  return words;
}

std::optional<Address> CppObjects::function_of(Address object,
                                               std::string_view symbol) const {
  const auto table = memory_.read_address(object);
  if (!table) {
    return std::nullopt;
  }
  const auto module = std::ranges::find_if(
      modules_, [&](const Module& one) { return one.contains(*table); });
  if (module == modules_.end()) {
    return std::nullopt;
  }
  const auto image = ElfImage::read(memory_, module->base);
  const auto found =
      image ? image->find(memory_, symbol) : std::optional<Symbol>();
  return found ? std::optional(found->address) : std::nullopt;
}

// The name of a class is one of the mangled ones: digits, letters, '_', '.'.
// Of a class of one file alone GCC puts a '*' before it.
std::optional<std::string> CppObjects::name_of(Address type_info) const {
  const auto place = memory_.read_address(type_info + kWord);
  if (type_info.value % kWord != 0 || !place || !*place) {
    return std::nullopt;
  }
  auto name = memory_.read_string(*place, kLongestName);
  if (!name) {
    return std::nullopt;
  }
  if (name->starts_with('*')) {
    name->erase(0, 1);
  }
  const bool good = name->size() >= 2 && name->size() < kLongestName &&
                    std::ranges::all_of(*name, [](unsigned char c) {
                      return std::isalnum(c) != 0 || c == '_' || c == '.';
                    });
  return good ? std::optional(*std::move(name)) : std::nullopt;
}

std::string last_part(std::string_view mangled) {
  std::string part;
  mangled.remove_prefix(mangled.starts_with('N') ? 1 : 0);
  while (!mangled.empty() &&
         std::isdigit(static_cast<unsigned char>(mangled[0])) != 0) {
    const auto digits =
        std::min(mangled.find_first_not_of("0123456789"), mangled.size());
    const auto length = parse_number<std::size_t>(mangled.substr(0, digits));
    mangled.remove_prefix(digits);
    if (!length || *length > mangled.size()) {
      break;
    }
    part = mangled.substr(0, *length);
    mangled.remove_prefix(*length);
  }
  return part;
}

std::optional<Getter> parse_getter(std::span<const std::byte> code) {
  const auto starts = [&code](std::initializer_list<unsigned char> bytes) {
    return code.size() >= bytes.size() &&
           std::ranges::equal(
               code.first(bytes.size()), bytes, {},
               [](std::byte b) { return static_cast<unsigned char>(b); });
  };
  const auto skip = [&code](std::size_t count) {
    code = code.subspan(std::min(count, code.size()));
  };
  if (starts({0xf3, 0x0f, 0x1e, 0xfa})) {  // endbr64
    skip(4);
  }
  // A displacement of one byte, or of four, which end so many bytes on.
  const auto displacement =
      [&code](std::size_t at, bool wide) -> std::optional<std::ptrdiff_t> {
    std::int32_t four = 0;
    if (code.size() < at + (wide ? 4 : 1)) {
      return std::nullopt;
    }
    std::memcpy(&four, code.data() + at, wide ? 4 : 1);
    return wide ? four : static_cast<std::int8_t>(four);
  };
  for (const bool wide : {false, true}) {
    const std::size_t width = wide ? 4 : 1;
    const auto mode = static_cast<unsigned char>(wide ? 0x87 : 0x47);
    // mov OFFSET(%rdi),%rax; ret
    if (starts({0x48, 0x8b, mode}) && code.size() > 3 + width &&
        code[3 + width] == std::byte{0xc3}) {
      return Getter{.offset = *displacement(3, wide)};
    }
    // mov OFFSET(%rdi),%eax; lea 1(%rax),%edx; mov %edx,OFFSET(%rdi); ret
    const auto store = static_cast<unsigned char>(mode + 0x10);
    if (starts({0x8b, mode}) && code.size() >= 8 + 2 * width) {
      const auto offset = displacement(2, wide);
      skip(2 + width);
      if (starts({0x8d, 0x50, 0x01, 0x89, store}) &&
          displacement(5, wide) == offset &&
          code[5 + width] == std::byte{0xc3}) {
        return Getter{.offset = *offset, .size = 4};
      }
      return std::nullopt;
    }
  }
  // Up to torch 2.0 the number is in an optional of a SequenceNum, which has an
  // optional number:
  //   cmpb $0,FLAG(%rdi); jne over; xor %eax,%eax; ret; nop...
  //   over: add $OFFSET,%rdi; jmp SequenceNum::get
  if (starts({0x80, 0x7f}) && code.size() >= 6 && code[3] == std::byte{0} &&
      code[4] == std::byte{0x75}) {
    const auto flag = static_cast<std::int8_t>(code[2]);
    const auto over = static_cast<std::int8_t>(code[5]);
    skip(6);
    if (!starts({0x31, 0xc0, 0xc3}) || over < 3) {
      return std::nullopt;
    }
    skip(static_cast<std::size_t>(over));
    if (starts({0x48, 0x83, 0xc7}) && code.size() >= 5 &&
        code[4] == std::byte{0xe9}) {
      const auto number = static_cast<std::int8_t>(code[3]);
      return Getter{.offset = number + 8, .size = 8, .flags = {flag, number}};
    }
  }
  return std::nullopt;
}

}  // namespace hangdbg
