// ObjectReader: Python objects in a target's memory, and the types that tell
// what is in them. The base of the readers in this folder.
//
// The target may run, and its memory may lie: nothing read here is trusted.
// Each walk is bounded, and an ObjectReader lives for one look, no longer.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "inspector/cpython/layout/layout.h"
#include "inspector/cpython/layout/object_layout.h"
#include "inspector/cpython/runtime/python_runtime.h"
#include "tracee/memory/address.h"
#include "tracee/memory/cached_memory.h"
#include "tracee/memory/memory.h"

namespace hangdbg {

// What CPython's own code made of an object. A class written in Python is of
// the kind of the first base that is not.
enum class Kind {
  Object,  // of no kind that is known here
  None,
  Ellipsis,
  NotImplemented,
  Bool,
  Int,
  Float,
  Complex,
  Str,
  Bytes,
  ByteArray,
  Tuple,
  List,
  Dict,
  OrderedDict,
  DefaultDict,
  FrozenDict,  // from 3.15
  Set,
  FrozenSet,
  Deque,
  Range,
  Slice,
  MappingProxy,
  Namespace,
  Function,
  Method,
  Builtin,
  MethodDescriptor,
  WrapperDescriptor,
  MemberDescriptor,
  GetSetDescriptor,
  Property,
  StaticMethod,
  ClassMethod,
  Module,
  Type,
  Code,
  Cell,
  Generator,
  Coroutine,
  AsyncGenerator,
  Exception,
  WeakReference,
  Lock,
  RLock,
  LazyImport,  // from 3.15: a name that is not imported yet (PEP 810)
  Sentinel,    // from 3.15
  MemoryView,
  Array,        // numpy's
  ArrayScalar,  // numpy's
  Tensor,       // torch's
};

struct Type {
  Address address;
  Address metatype;
  Address base;
  Address mro;
  Address dict;      // none in a builtin type from 3.12 on
  Address members;   // PyMemberDef[]
  std::string name;  // __name__
  std::string path;  // as the interpreter keeps it: "_thread.lock", "Point"
  Kind kind = Kind::Object;
  bool opaque = false;  // what is in such objects is not known: `kind` Object
  std::uint64_t flags = 0;
  std::uint64_t basic_size = 0;
  std::int64_t item_size = 0;
  std::int64_t dict_offset = 0;

  bool on_heap() const { return (flags >> 9 & 1) != 0; }
  // A class statement made it: what C makes has its module in its name.
  bool in_python() const {
    return on_heap() && path.find('.') == std::string::npos;
  }
  bool has_managed_dict() const { return (flags >> 4 & 1) != 0; }
  bool has_inline_values() const { return (flags >> 2 & 1) != 0; }
};

// Of a version that we know, each is; of a newer one, those of which memory
// shows that they are as before (object_proof.h). Kind::Object: instances of
// classes that are written in Python.
class TrustedKinds {
 public:
  static TrustedKinds all() { return TrustedKinds(~std::uint64_t{0}); }
  TrustedKinds() = default;
  void add(Kind kind) { bits_ |= bit(kind); }
  bool has(Kind kind) const { return (bits_ & bit(kind)) != 0; }
  bool are_all() const { return bits_ == ~std::uint64_t{0}; }

 private:
  explicit TrustedKinds(std::uint64_t bits) : bits_(bits) {}
  static std::uint64_t bit(Kind kind) {
    static_assert(static_cast<unsigned>(Kind::Tensor) < 64);  // the last
    return std::uint64_t{1} << static_cast<unsigned>(kind);
  }
  std::uint64_t bits_ = 0;
};

// Reads as often as it was allowed to (a long read counts for more), and then
// no more.
class MeteredMemory final : public MemoryReader {
 public:
  explicit MeteredMemory(const MemoryReader& under) : pages_(under) {}
  void allow(std::uint64_t count) { left_ = count; }
  Status read(Address from, std::span<std::byte> out) const override;
  // Of small pieces: each counts as one read.
  std::size_t read_each(std::span<const Piece> pieces) const override;

 private:
  CachedMemory pages_;
  mutable std::uint64_t left_ = 0;
};

// Not for two threads at once.
class ObjectReader {
 public:
  // `memory` must outlive this. Errors: UnsupportedPython, also of a version
  // that is not known.
  static Result<ObjectReader> open(const MemoryReader& memory,
                                   const PythonRuntime& python);

  // For callers that only show variables, and conclude nothing from them: also
  // of an unknown version. Its types are `opaque` unless proved.
  // Errors: UnsupportedPython where nothing is.
  static Result<ObjectReader> open_values(const MemoryReader& memory,
                                          const PythonRuntime& python);

  // Open to what is to be proved.
  static ObjectReader open_with(const MemoryReader& memory,
                                const CPythonLayout& layout,
                                const ObjectLayout& at,
                                TrustedKinds trusted);

  const MemoryReader& memory() const { return *memory_; }
  const CPythonLayout& layout() const { return layout_; }
  const ObjectLayout& at() const { return at_; }

  // Kept until the ObjectReader goes. Errors: Unreadable, also when that is no
  // type.
  Result<const Type*> type_of(Address object) const;
  Result<const Type*> type_at(Address type) const;

  Result<std::uint64_t> word(Address from) const {
    return memory().read_value<std::uint64_t>(from);
  }
  Result<Address> pointer(Address from) const {
    return memory().read_address(from);
  }

  // Before each answer to give: how much may be read for it is bounded, so
  // that no memory, however it lies, keeps us for long.
  void allow_reads(std::uint64_t count = 300'000) const {
    memory_->allow(count);
  }

  // A str object as UTF-8, cut where a name would be.
  Result<std::string> name(Address str) const;

 private:
  ObjectReader(const MemoryReader& memory,
               const CPythonLayout& layout,
               const ObjectLayout& at,
               TrustedKinds trusted);
  bool trusts(const Type& type) const;
  Result<Type> read_type(Address type) const;
  Kind kind_of(const Type& type) const;

  std::unique_ptr<MeteredMemory> memory_;
  CPythonLayout layout_;
  ObjectLayout at_;
  TrustedKinds trusted_;
  mutable std::map<Address, Type> types_;
};

// "no list at 0x7f00": what was to be read is not there.
std::unexpected<Error> nothing_at(const char* what, Address place);

}  // namespace hangdbg
