#include "inspector/objects/dict.h"

#include <algorithm>
#include <array>
#include <span>
#include <unordered_map>
#include <vector>

namespace hangdbg {
namespace {

constexpr std::uint64_t kMaxEntries = std::uint64_t{1} << 20;
constexpr std::uint64_t kMaxLog2Bytes = 40;  // of the indices

// PyDictKeyEntry has a hash before the key; PyDictUnicodeEntry has none.
constexpr std::uint64_t kWithHash = 24;
constexpr std::uint64_t kWithoutHash = 16;

struct Keys {
  Address entries;
  std::uint64_t count = 0;
  std::uint64_t entry_size = kWithHash;
};

Result<Keys> read_keys(const Heap& heap, Address keys) {
  const ObjectLayout& at = heap.at();
  std::uint64_t index_bytes = 0;
  Keys read;
  if (at.keys_kind == ObjectLayout::kAbsent) {
    const auto slots = TRY(heap.word(keys + at.keys_index_count));
    index_bytes = slots * (slots <= 0xff          ? 1
                           : slots <= 0xffff      ? 2
                           : slots <= 0xffff'ffff ? 4
                                                  : 8);
  } else {
    const auto log2 = TRY(heap.memory().read_value<std::uint8_t>(
        keys + at.keys_log2_index_bytes));
    if (log2 > kMaxLog2Bytes) {
      return nothing_at("keys of a dict", keys);
    }
    index_bytes = std::uint64_t{1} << log2;
    const auto kind =
        TRY(heap.memory().read_value<std::uint8_t>(keys + at.keys_kind));
    read.entry_size = kind == 0 ? kWithHash : kWithoutHash;
  }
  if (index_bytes > std::uint64_t{1} << kMaxLog2Bytes) {
    return nothing_at("keys of a dict", keys);
  }
  read.entries = keys + at.keys_indices + index_bytes;
  read.count = TRY(heap.word(keys + at.keys_entry_count));
  return read;
}

Result<DictEntry> read_entry(const Heap& heap,
                             const Keys& keys,
                             std::uint64_t index) {
  return heap.memory().read_value<DictEntry>(
      keys.entries + (index + 1) * keys.entry_size - sizeof(DictEntry));
}

Status each_combined(const Heap& heap,
                     const Keys& keys,
                     const VisitEntry& visit) {
  for (std::uint64_t i = 0; i < keys.count; ++i) {
    if (i >= kMaxEntries) {
      return fail(ErrorId::Unreadable, "a dict too large to go through");
    }
    const DictEntry entry = TRY(read_entry(heap, keys, i));
    // A deleted one has no value.
    if (entry.key && entry.value && !visit(entry)) {
      break;
    }
  }
  return {};
}

// Up to 3.10: as many values as keys, in the order of the keys.
Status each_of_plain_values(const Heap& heap,
                            const Keys& keys,
                            Address values,
                            const VisitEntry& visit) {
  for (std::uint64_t i = 0; i < std::min(keys.count, kMaxEntries); ++i) {
    DictEntry entry = TRY(read_entry(heap, keys, i));
    entry.value = TRY(heap.pointer(values + i * 8));
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

Status each_ordered(const Heap& heap, Address dict, const VisitEntry& visit) {
  std::unordered_map<std::uint64_t, Address> values;
  const Keys keys =
      TRY(read_keys(heap, TRY(heap.pointer(dict + heap.at().dict_keys))));
  TRY(each_combined(heap, keys, [&](const DictEntry& entry) {
    values.emplace(entry.key.value, entry.value);
    return true;
  }));
  Address place = TRY(heap.pointer(dict + heap.at().dict_size));
  for (std::size_t i = 0; place && i < values.size(); ++i) {
    const auto node = TRY(heap.memory().read_value<OrderedNode>(place));
    const auto found = values.find(node.key.value);
    if (found != values.end() && !visit({node.key, found->second})) {
      break;
    }
    place = node.next;
  }
  return {};
}

}  // namespace

Status each_entry(const Heap& heap, Address dict, const VisitEntry& visit) {
  const ObjectLayout& at = heap.at();
  const Type* const type = TRY(heap.type_of(dict));
  if (!is_dict(type->kind)) {
    return nothing_at("dict", dict);
  }
  if (type->kind == Kind::OrderedDict) {
    return each_ordered(heap, dict, visit);
  }
  const Address keys = TRY(heap.pointer(dict + at.dict_keys));
  const Address values = TRY(heap.pointer(dict + at.dict_values));
  return values ? each_value(heap, keys, values, visit)
                : each_combined(heap, TRY(read_keys(heap, keys)), visit);
}

Status each_value(const Heap& heap,
                  Address keys_address,
                  Address values,
                  const VisitEntry& visit) {
  const ObjectLayout& at = heap.at();
  const Keys keys = TRY(read_keys(heap, keys_address));
  if (at.values_items == ObjectLayout::kAbsent) {
    return each_of_plain_values(heap, keys, values, visit);
  }
  // How many are set, and then their numbers in the order of setting: before
  // the values and backwards up to 3.12, behind them from 3.13 on.
  const auto byte = [&](Address from) {
    return heap.memory().read_value<std::uint8_t>(from);
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
    DictEntry entry = TRY(read_entry(heap, keys, index));
    entry.value = TRY(heap.pointer(values + at.values_items + index * 8));
    if (entry.key && entry.value && !visit(entry)) {
      break;
    }
  }
  return {};
}

Result<std::optional<Address>> find_key(const Heap& heap,
                                        Address dict,
                                        std::string_view key) {
  std::optional<Address> found;
  TRY(each_entry(heap, dict, look_for(heap, key, found)));
  return found;
}

VisitEntry look_for(const Heap& heap,
                    std::string_view name,
                    std::optional<Address>& found) {
  // Most differ in length, and that is told at once.
  const auto length = static_cast<std::uint64_t>(std::ranges::count_if(
      name, [](char byte) { return (byte & 0xc0) != 0x80; }));  // of UTF-8
  return [&heap, name, length, &found](const DictEntry& entry) {
    const auto type = heap.type_of(entry.key);
    if (type && (*type)->kind == Kind::Str &&
        heap.word(entry.key + heap.layout().str_length) == length) {
      const auto text = heap.name(entry.key);
      if (text && *text == name) {
        found = entry.value;
      }
    }
    return !found;
  };
}

}  // namespace hangdbg
