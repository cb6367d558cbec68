// Tuples, lists, dicts, sets and their kin.
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "inspector/cpython/objects/attributes.h"
#include "inspector/cpython/objects/numbers.h"
#include "inspector/cpython/objects/repr_writer.h"

namespace hangdbg {
namespace {

Status write_items(ReprWriter& to,
                   Address object,
                   Kind kind,
                   std::string_view open,
                   std::string_view close) {
  const Items read =
      TRY(read_items(to.objects, object, kind, 0, to.limits.items));
  Listing listing(to, open, read.size);
  for (std::size_t i = 0; listing.next(); ++i) {
    if (i >= read.items.size()) {
      break;  // it has changed since
    }
    to.write(read.items[i]);
  }
  // The comma that makes one thing in parentheses a tuple.
  listing.close(kind == Kind::Tuple && read.size == 1 && !to.deep() ? ",)"
                                                                    : close);
  return {};
}

Status write_set(ReprWriter& to, Address object, const Type& type) {
  const bool literal = type.kind == Kind::Set && type.name == "set";
  if (TRY(read_size(to.objects, object, type.kind)) == 0) {
    to.put(type.name + "()");
    return {};
  }
  return literal ? write_items(to, object, type.kind, "{", "}")
                 : write_items(to, object, type.kind, type.name + "({", "})");
}

Status write_deque(ReprWriter& to, Address object, const Type& type) {
  // struct dequeobject: the size, two blocks, two indices, a state.
  const auto max_length = TRY(to.objects.memory().read_value<std::int64_t>(
      object + to.objects.at().size + 48));
  return write_items(
      to, object, type.kind, type.name + "([",
      max_length < 0 ? "])" : fmt::format("], maxlen={})", max_length));
}

// Counter's own __repr__ prints the most common first.
Status write_counter(ReprWriter& to, Address object, const Type& type) {
  std::vector<std::pair<std::int64_t, DictEntry>> counts;
  TRY(each_entry(to.objects, object, [&](const DictEntry& entry) {
    const auto value_type = to.objects.type_of(entry.value);
    const auto count = value_type && (*value_type)->kind == Kind::Int
                           ? int_value(to.objects, entry.value)
                           : std::optional<std::int64_t>();
    counts.emplace_back(
        count && *count ? **count : std::numeric_limits<std::int64_t>::min(),
        entry);
    return true;
  }));
  std::ranges::stable_sort(counts, std::ranges::greater(),
                           &std::pair<std::int64_t, DictEntry>::first);
  if (counts.empty()) {
    to.put(type.name + "()");
    return {};
  }
  Listing listing(to, type.name + "({", counts.size());
  for (std::size_t i = 0; listing.next(); ++i) {
    to.write(counts[i].second.key);
    to.put(": ");
    to.write(counts[i].second.value);
  }
  listing.close("})");
  return {};
}

Status write_ordered_dict(ReprWriter& to, Address object, const Type& type) {
  to.put(type.name + "(");
  if (TRY(read_size(to.objects, object, type.kind)) > 0) {
    if (to.objects.at().minor >= 12) {
      TRY(write_entries(to, object, type.kind));
    } else {
      Listing listing(to, "[", TRY(read_size(to.objects, object, type.kind)));
      TRY(each_entry(to.objects, object, [&](const DictEntry& entry) {
        if (!listing.next()) {
          return false;
        }
        to.put("(");
        to.write(entry.key);
        to.put(", ");
        to.write(entry.value);
        to.put(")");
        return true;
      }));
      listing.close("]");
    }
  }
  to.put(")");
  return {};
}

// struct rangeobject, and slice: start, stop, step.
Status write_range(ReprWriter& to, Address object) {
  const Address first = object + to.objects.at().object_size;
  const Address step = TRY(to.objects.pointer(first + 16));
  to.put("range(");
  to.write(TRY(to.objects.pointer(first)));
  to.put(", ");
  to.write(TRY(to.objects.pointer(first + 8)));
  if (TRY(int_value(to.objects, step)) != 1) {
    to.put(", ");
    to.write(step);
  }
  to.put(")");
  return {};
}

Status write_slice(ReprWriter& to, Address object) {
  const ObjectLayout& at = to.objects.at();
  to.put("slice(");
  to.write(TRY(to.objects.pointer(object + at.slice_start)));
  to.put(", ");
  to.write(TRY(to.objects.pointer(object + at.slice_stop)));
  to.put(", ");
  to.write(TRY(to.objects.pointer(object + at.slice_step)));
  to.put(")");
  return {};
}

Status write_namespace(ReprWriter& to, Address object, const Type& type) {
  std::vector<DictEntry> entries;
  TRY(each_in_instance(to.objects, object, type, [&](const DictEntry& entry) {
    entries.push_back(entry);
    return true;
  }));
  Listing listing(
      to, (type.name == "SimpleNamespace" ? "namespace" : type.name) + "(",
      entries.size());
  for (std::size_t i = 0; listing.next(); ++i) {
    to.put(TRY(to.objects.name(entries[i].key)) + "=");
    to.write(entries[i].value);
  }
  listing.close(")");
  return {};
}

}  // namespace

Status write_entries(ReprWriter& to, Address dict, Kind kind) {
  Listing listing(to, "{", TRY(read_size(to.objects, dict, kind)));
  if (!to.deep()) {
    TRY(each_entry(to.objects, dict, [&](const DictEntry& entry) {
      if (!listing.next()) {
        return false;
      }
      to.write(entry.key);
      to.put(": ");
      to.write(entry.value);
      return true;
    }));
  }
  listing.close("}");
  return {};
}

Status write_container(ReprWriter& to, Address object, const Type& type) {
  switch (type.kind) {
    case Kind::Tuple:
      return write_items(to, object, type.kind, "(", ")");
    case Kind::List:
      return write_items(to, object, type.kind, "[", "]");
    case Kind::Dict:
      return type.name == "Counter" ? write_counter(to, object, type)
                                    : write_entries(to, object, type.kind);
    case Kind::OrderedDict:
      return write_ordered_dict(to, object, type);
    case Kind::DefaultDict:
      to.put(type.name + "(");
      to.write(TRY(to.objects.pointer(object + to.objects.at().dict_size)));
      to.put(", ");
      TRY(write_entries(to, object, type.kind));
      to.put(")");
      return {};
    case Kind::FrozenDict:
      to.put(type.name + "(");
      if (TRY(read_size(to.objects, object, type.kind)) > 0) {
        TRY(write_entries(to, object, type.kind));
      }
      to.put(")");
      return {};
    case Kind::Set:
    case Kind::FrozenSet:
      return write_set(to, object, type);
    case Kind::Deque:
      return write_deque(to, object, type);
    case Kind::Range:
      return write_range(to, object);
    case Kind::Slice:
      return write_slice(to, object);
    case Kind::MappingProxy:
      to.put("mappingproxy(");
      to.write(TRY(to.objects.pointer(object + to.objects.at().object_size)));
      to.put(")");
      return {};
    case Kind::Namespace:
      return write_namespace(to, object, type);
    default:
      return write_plain(to, object, type);
  }
}

}  // namespace hangdbg
