#include "inspector/cpython/objects/repr.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "inspector/cpython/objects/repr_writer.h"

namespace hangdbg {
namespace {

// Below those that are shown in full: a method of an instance, its arguments.
constexpr std::size_t kMaxNesting = 30;

// The families of kinds, by the first of each.
constexpr Kind kFirstContainer = Kind::Tuple;
constexpr Kind kFirstCode = Kind::Function;
constexpr Kind kFirstArray = Kind::Array;

std::string_view self_reference(Kind kind) {
  switch (kind) {
    case Kind::List:
      return "[...]";
    case Kind::Tuple:
      return "(...)";
    default:
      return is_dict(kind) ? "{...}" : "...";
  }
}

}  // namespace

std::string repr(const ObjectReader& objects,
                 Address object,
                 const ReprLimits& limits) {
  objects.allow_reads();
  ReprWriter writer(objects, limits);
  writer.write(object);
  return printable(writer.text());
}

void ReprWriter::put_address(Address place) {
  put(fmt::format("{:#x}", place.value));
}

void ReprWriter::write(Address object) {
  if (full()) {
    return;
  }
  const auto type = objects.type_of(object);
  if (!object || !type) {
    put(object ? fmt::format("<unreadable at {:#x}>", object.value) : "<NULL>");
    return;
  }
  if (std::ranges::find(open_, object) != open_.end()) {
    put(self_reference((*type)->kind));
    return;
  }
  if (open_.size() > limits.depth + kMaxNesting) {
    put("…");
    return;
  }
  open_.push_back(object);
  write_known(object, **type);
  open_.pop_back();
}

void ReprWriter::write_known(Address object, const Type& type) {
  if (type.opaque) {
    put(fmt::format("<{} object at {:#x}>", type.path, object.value));
    return;
  }
  const auto special = write_special(*this, object, type);
  if (special && *special) {
    return;
  }
  const auto family = type.kind == Kind::Object     ? write_instance
                      : type.kind < kFirstContainer ? write_scalar
                      : type.kind < kFirstCode      ? write_container
                      : type.kind < kFirstArray     ? write_code
                                                    : write_array;
  if (!family(*this, object, type)) {
    put(fmt::format("<unreadable {} at {:#x}>", type.name, object.value));
  }
}

std::string ReprWriter::text() const {
  if (!full()) {
    return text_;
  }
  std::size_t end = limits.characters;
  while (end > 0 && (text_[end] & 0xc0) == 0x80) {
    --end;  // not within a character
  }
  return text_.substr(0, end) + "…";
}

Listing::Listing(ReprWriter& writer, std::string_view open, std::uint64_t size)
    : writer_(writer), size_(size) {
  writer_.put(open);
  if (size > 0 && writer.deep()) {
    writer_.put("…");
    size_ = 0;
  }
}

bool Listing::next() {
  if (written_ >= size_ || writer_.full()) {
    return false;
  }
  writer_.put(written_ > 0 ? ", " : "");
  if (written_ >= writer_.limits.items) {
    writer_.put(fmt::format("… {} more", size_ - written_));
    return false;
  }
  ++written_;
  return true;
}

void Listing::close(std::string_view close) {
  writer_.put(close);
}

}  // namespace hangdbg
