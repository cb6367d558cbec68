// ReprWriter: what the writers of each family of kinds write to. It keeps the
// limits, and the objects that are being written, so that none is entered from
// within itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "inspector/cpython/objects/dict.h"
#include "inspector/cpython/objects/items.h"
#include "inspector/cpython/objects/object_reader.h"
#include "inspector/cpython/objects/repr.h"
#include "tracee/memory/address.h"

namespace hangdbg {

class ReprWriter {
 public:
  // Both must outlive this.
  ReprWriter(const ObjectReader& objects, const ReprLimits& limits)
      : objects(objects), limits(limits) {}

  const ObjectReader& objects;
  const ReprLimits& limits;

  void put(std::string_view text) { text_ += text; }
  void put_address(Address place);
  void write(Address object);

  // The whole is long enough.
  bool full() const { return text_.size() > limits.characters; }
  // What is being written now should not show what is in it.
  bool deep() const { return open_.size() > limits.depth; }

  std::string text() const;

 private:
  void write_known(Address object, const Type& type);

  std::string text_;
  std::vector<Address> open_;
};

// "a, b, … 3 more" between `open` and `close`: of a size that is known, as
// many as `part` writes; that one says whether there was one.
class Listing {
 public:
  Listing(ReprWriter& writer, std::string_view open, std::uint64_t size);

  // Whether another part is to be written; puts what parts it from the last.
  bool next();
  void close(std::string_view close);

 private:
  ReprWriter& writer_;
  std::uint64_t size_;
  std::uint64_t written_ = 0;
};

// One for each family of kinds.
Status write_scalar(ReprWriter& to, Address object, const Type& type);
Status write_container(ReprWriter& to, Address object, const Type& type);
Status write_code(ReprWriter& to, Address object, const Type& type);
Status write_array(ReprWriter& to, Address object, const Type& type);
Status write_instance(ReprWriter& to, Address object, const Type& type);

// "{'a': 1}".
Status write_entries(ReprWriter& to, Address dict, Kind kind);

// An enum's member, a named tuple: those that are not as their kind is.
// False when it is not one, and nothing was written.
Result<bool> write_special(ReprWriter& to, Address object, const Type& type);

// "<collections.deque object at 0x7f00>".
Status write_plain(ReprWriter& to, Address object, const Type& type);

}  // namespace hangdbg
