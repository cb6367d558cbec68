#include "inspector/cpython/objects/items.h"

#include <algorithm>
#include <array>
#include <span>

namespace hangdbg {
namespace {

// No container in memory is larger: 2^40 addresses are 8 TiB.
constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 40;

// How much of a set that was once large, or of a deque, is walked through.
constexpr std::uint64_t kMaxSlots = std::uint64_t{1} << 20;
constexpr std::uint64_t kMaxBlocks = 100'000;

Result<std::vector<Address>> read_pointers(const ObjectReader& objects,
                                           Address from,
                                           std::size_t count) {
  std::vector<Address> pointers(count);
  static_assert(sizeof(Address) == sizeof(std::uint64_t));
  TRY(objects.memory().read(from, std::as_writable_bytes(std::span(pointers))));
  return pointers;
}

// struct dequeobject, from its size on, and struct BLOCK
// (Modules/_collectionsmodule.c).
struct Deque {
  std::uint64_t size;
  Address left_block, right_block;
  std::uint64_t left_index;
};
constexpr std::uint64_t kBlockItems = 64;
constexpr std::uint64_t kBlockFirst = 8;
constexpr std::uint64_t kBlockNext = kBlockFirst + kBlockItems * 8;

Result<std::vector<Address>> read_deque(const ObjectReader& objects,
                                        Address object,
                                        std::uint64_t first,
                                        std::size_t count) {
  const auto deque =
      TRY(objects.memory().read_value<Deque>(object + objects.at().size));
  if (deque.left_index >= kBlockItems) {
    return nothing_at("deque", object);
  }
  std::uint64_t index = deque.left_index + first;
  Address block = deque.left_block;
  std::vector<Address> items;
  for (std::uint64_t walked = 0; items.size() < count; ++walked) {
    if (walked >= kMaxBlocks) {
      return fail(ErrorId::Unreadable, "a deque too long to walk through");
    }
    if (index < kBlockItems) {
      const auto here =
          std::min<std::size_t>(kBlockItems - index, count - items.size());
      const auto part =
          TRY(read_pointers(objects, block + kBlockFirst + index * 8, here));
      items.insert(items.end(), part.begin(), part.end());
      index = kBlockItems;
    }
    index -= kBlockItems;
    block = TRY(objects.pointer(block + kBlockNext));
  }
  return items;
}

// The slots of a set: free ones have no key, deleted ones the hash -1, which
// no object has.
struct Slot {
  Address key;
  std::int64_t hash;
};

Result<std::vector<Address>> read_set(const ObjectReader& objects,
                                      Address object,
                                      std::uint64_t first,
                                      std::size_t count) {
  const ObjectLayout& at = objects.at();
  const auto slots = TRY(objects.word(object + at.set_mask)) + 1;
  const Address table = TRY(objects.pointer(object + at.set_table));
  std::vector<Address> items;
  std::array<Slot, 64> some;
  for (std::uint64_t i = 0;
       i < std::min(slots, kMaxSlots) && items.size() < count;
       i += some.size()) {
    const std::span here =
        std::span(some).first(std::min<std::size_t>(some.size(), slots - i));
    TRY(objects.memory().read(table + i * sizeof(Slot),
                              std::as_writable_bytes(here)));
    for (const Slot& slot : here) {
      if (slot.key && slot.hash != -1 && items.size() < count) {
        if (first > 0) {
          --first;
        } else {
          items.push_back(slot.key);
        }
      }
    }
  }
  return items;
}

}  // namespace

Result<Items> read_items(const ObjectReader& objects,
                         Address object,
                         Kind kind,
                         std::uint64_t first,
                         std::size_t most) {
  const ObjectLayout& at = objects.at();
  Items read;
  read.size = TRY(read_size(objects, object, kind));
  if (first >= read.size) {
    return read;
  }
  const auto count = std::min<std::uint64_t>(read.size - first, most);
  if (kind == Kind::Deque) {
    read.items = TRY(read_deque(objects, object, first, count));
  } else if (kind == Kind::Set || kind == Kind::FrozenSet) {
    read.items = TRY(read_set(objects, object, first, count));
  } else {
    const Address items = kind == Kind::Tuple
                              ? object + at.tuple_items
                              : TRY(objects.pointer(object + at.list_items));
    read.items = TRY(read_pointers(objects, items + first * 8, count));
  }
  return read;
}

Result<Items> read_tuple(const ObjectReader& objects,
                         Address object,
                         std::size_t most) {
  const Type* const type = TRY(objects.type_of(object));
  if (type->kind != Kind::Tuple) {
    return nothing_at("tuple", object);
  }
  return read_items(objects, object, Kind::Tuple, 0, most);
}

Result<std::uint64_t> read_size(const ObjectReader& objects,
                                Address object,
                                Kind kind) {
  const ObjectLayout& at = objects.at();
  Address place = object + at.size;  // of PyVarObject, and of list
  switch (kind) {
    case Kind::Set:
    case Kind::FrozenSet:
      place = object + at.set_used;
      break;
    case Kind::Dict:
    case Kind::OrderedDict:
    case Kind::DefaultDict:
    case Kind::FrozenDict:
      place = object + at.dict_used;
      break;
    case Kind::Str:
      place = object + objects.layout().str_length;
      break;
    default:
      break;
  }
  const auto size = TRY(objects.word(place));
  if (size > kMaxSize) {
    return nothing_at("object of a size that can be", object);
  }
  return size;
}

}  // namespace hangdbg
