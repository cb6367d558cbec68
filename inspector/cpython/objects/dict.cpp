#include "inspector/cpython/objects/dict.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hangdbg {
namespace {

constexpr std::uint64_t kMaxEntries = std::uint64_t{1} << 20;
constexpr std::uint64_t kMaxLog2Bytes = 40;  // of the indices

// A key is sought among so many at once; of fewer, one after the other.
constexpr std::size_t kKeysAtOnce = 128;
constexpr std::size_t kKeysAtLeast = 8;
constexpr std::size_t kLongestAtOnce = 100;  // bytes of its name

// PyDictKeyEntry has a hash before the key; PyDictUnicodeEntry has none.
constexpr std::uint64_t kWithHash = 24;
constexpr std::uint64_t kWithoutHash = 16;

struct Keys {
  Address entries;
  std::uint64_t count = 0;
  std::uint64_t entry_size = kWithHash;
};

Result<Keys> read_keys(const ObjectReader& objects, Address keys) {
  const ObjectLayout& at = objects.at();
  std::uint64_t index_bytes = 0;
  Keys read;
  if (at.keys_kind == ObjectLayout::kAbsent) {
    const auto slots = TRY(objects.word(keys + at.keys_index_count));
    index_bytes = slots * (slots <= 0xff          ? 1
                           : slots <= 0xffff      ? 2
                           : slots <= 0xffff'ffff ? 4
                                                  : 8);
  } else {
    const auto log2 = TRY(objects.memory().read_value<std::uint8_t>(
        keys + at.keys_log2_index_bytes));
    if (log2 > kMaxLog2Bytes) {
      return nothing_at("keys of a dict", keys);
    }
    index_bytes = std::uint64_t{1} << log2;
    const auto kind =
        TRY(objects.memory().read_value<std::uint8_t>(keys + at.keys_kind));
    read.entry_size = kind == 0 ? kWithHash : kWithoutHash;
  }
  if (index_bytes > std::uint64_t{1} << kMaxLog2Bytes) {
    return nothing_at("keys of a dict", keys);
  }
  read.entries = keys + at.keys_indices + index_bytes;
  read.count = TRY(objects.word(keys + at.keys_entry_count));
  return read;
}

Result<DictEntry> read_entry(const ObjectReader& objects,
                             const Keys& keys,
                             std::uint64_t index) {
  return objects.memory().read_value<DictEntry>(
      keys.entries + (index + 1) * keys.entry_size - sizeof(DictEntry));
}

Status each_combined(const ObjectReader& objects,
                     const Keys& keys,
                     const VisitEntry& visit) {
  for (std::uint64_t i = 0; i < keys.count; ++i) {
    if (i >= kMaxEntries) {
      return fail(ErrorId::Unreadable, "a dict too large to go through");
    }
    const DictEntry entry = TRY(read_entry(objects, keys, i));
    // A deleted one has no value.
    if (entry.key && entry.value && !visit(entry)) {
      break;
    }
  }
  return {};
}

// Up to 3.10: as many values as keys, in the order of the keys.
Status each_of_plain_values(const ObjectReader& objects,
                            const Keys& keys,
                            Address values,
                            const VisitEntry& visit) {
  for (std::uint64_t i = 0; i < std::min(keys.count, kMaxEntries); ++i) {
    DictEntry entry = TRY(read_entry(objects, keys, i));
    entry.value = TRY(objects.pointer(values + i * 8));
    if (entry.key && entry.value && !visit(entry)) {
      break;
    }
  }
  return {};
}

// In an OrderedDict a list of nodes has the order (Objects/odictobject.c).
struct OrderedNode {
  Address key;
  std::int64_t hash;
  Address next;
};

Status each_ordered(const ObjectReader& objects,
                    Address dict,
                    const VisitEntry& visit) {
  std::unordered_map<std::uint64_t, Address> values;
  const Keys keys = TRY(
      read_keys(objects, TRY(objects.pointer(dict + objects.at().dict_keys))));
  TRY(each_combined(objects, keys, [&](const DictEntry& entry) {
    values.emplace(entry.key.value, entry.value);
    return true;
  }));
  Address place = TRY(objects.pointer(dict + objects.at().dict_size));
  for (std::size_t i = 0; place && i < values.size(); ++i) {
    const auto node = TRY(objects.memory().read_value<OrderedNode>(place));
    const auto found = values.find(node.key.value);
    if (found != values.end() && !visit({node.key, found->second})) {
      break;
    }
    place = node.next;
  }
  return {};
}

// Most names differ in length, and that is told at once.
std::uint64_t length_of(std::string_view utf8) {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      utf8, [](char byte) { return (byte & 0xc0) != 0x80; }));
}

// By the start of a str (text.cpp): one in ASCII has its text there.
bool may_be(std::span<const std::byte> str,
            const CPythonLayout& at,
            std::string_view name) {
  constexpr std::uint32_t kCompactAscii = 0b11'001;
  std::uint64_t length = 0;
  std::uint32_t state = 0;
  std::memcpy(&length, str.data() + at.str_length, sizeof length);
  std::memcpy(&state, str.data() + at.str_state, sizeof state);
  if (length != length_of(name)) {
    return false;
  }
  const bool is_ascii =
      (state >> at.str_kind_shift & 0b11'111) == kCompactAscii;
  return !is_ascii || std::memcmp(str.data() + at.str_ascii_data, name.data(),
                                  name.size()) == 0;
}

// Keys lie all over the objects: of many at once, with one system call, those
// are dropped that are plainly another text. What is left is for look_for to
// tell, and so is what cannot be read here.
void drop_other_names(const ObjectReader& objects,
                      std::string_view name,
                      std::vector<DictEntry>& entries) {
  if (entries.size() < kKeysAtLeast || name.size() > kLongestAtOnce) {
    return;
  }
  const CPythonLayout& at = objects.layout();
  const std::size_t size = at.str_ascii_data + name.size();
  std::vector<std::byte> bytes(entries.size() * size);
  std::vector<MemoryReader::Piece> pieces;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    pieces.push_back(
        {entries[i].key, std::span(bytes).subspan(i * size, size)});
  }
  std::vector<DictEntry> kept;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::size_t filled =
        i + objects.memory().read_each(std::span(pieces).subspan(i));
    for (; i < filled; ++i) {
      if (may_be(pieces[i].out, at, name)) {
        kept.push_back(entries[i]);
      }
    }
    if (i < entries.size()) {
      kept.push_back(entries[i]);  // at the end of what is mapped
    }
  }
  entries = std::move(kept);
}

}  // namespace

Status each_entry(const ObjectReader& objects,
                  Address dict,
                  const VisitEntry& visit) {
  const ObjectLayout& at = objects.at();
  const Type* const type = TRY(objects.type_of(dict));
  if (!is_dict(type->kind)) {
    return nothing_at("dict", dict);
  }
  if (type->kind == Kind::OrderedDict) {
    return each_ordered(objects, dict, visit);
  }
  const Address keys = TRY(objects.pointer(dict + at.dict_keys));
  const Address values = TRY(objects.pointer(dict + at.dict_values));
  return values ? each_value(objects, keys, values, visit)
                : each_combined(objects, TRY(read_keys(objects, keys)), visit);
}

Status each_value(const ObjectReader& objects,
                  Address keys_address,
                  Address values,
                  const VisitEntry& visit) {
  const ObjectLayout& at = objects.at();
  const Keys keys = TRY(read_keys(objects, keys_address));
  if (at.values_items == ObjectLayout::kAbsent) {
    return each_of_plain_values(objects, keys, values, visit);
  }
  // How many are set, and then their numbers in the order of setting: before
  // the values and backwards up to 3.12, behind them from 3.13 on.
  const auto byte = [&](Address from) {
    return objects.memory().read_value<std::uint8_t>(from);
  };
  const bool before = at.values_items == 0;
  const std::uint64_t capacity = before ? 0 : TRY(byte(values));
  const auto size = TRY(byte(before ? values - 2 : values + 1));
  const Address order =
      before ? values - 3 : values + at.values_items + capacity * 8;
  for (std::uint64_t i = 0; i < size; ++i) {
    const std::uint64_t index = TRY(byte(before ? order - i : order + i));
    if (index >= keys.count) {
      return nothing_at("values of a dict", values);
    }
    DictEntry entry = TRY(read_entry(objects, keys, index));
    entry.value = TRY(objects.pointer(values + at.values_items + index * 8));
    if (entry.key && entry.value && !visit(entry)) {
      break;
    }
  }
  return {};
}

Result<std::optional<Address>> find_key(const ObjectReader& objects,
                                        Address dict,
                                        std::string_view key) {
  std::optional<Address> found;
  const VisitEntry visit = look_for(objects, key, found);
  std::vector<DictEntry> some;
  const auto look = [&] {
    drop_other_names(objects, key, some);
    const bool go_on = std::ranges::all_of(some, visit);
    some.clear();
    return go_on;
  };
  const Status walked = each_entry(objects, dict, [&](const DictEntry& entry) {
    some.push_back(entry);
    return some.size() < kKeysAtOnce || look();
  });
  look();
  if (!found) {
    TRY(walked);
  }
  return found;
}

VisitEntry look_for(const ObjectReader& objects,
                    std::string_view name,
                    std::optional<Address>& found) {
  return [&objects, name, length = length_of(name),
          &found](const DictEntry& entry) {
    const auto type = objects.type_of(entry.key);
    if (type && (*type)->kind == Kind::Str &&
        objects.word(entry.key + objects.layout().str_length) == length) {
      const auto text = objects.name(entry.key);
      if (text && *text == name) {
        found = entry.value;
      }
    }
    return !found;
  };
}

}  // namespace hangdbg
