#include "inspector/cpython/objects/object_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "inspector/cpython/layout/text.h"
#include "inspector/cpython/objects/noted_reads.h"
#include "inspector/cpython/objects/object_proof.h"

namespace hangdbg {
namespace {

constexpr std::size_t kHeapMaxName = 1000;
constexpr std::size_t kMaxTypes = 20'000;
constexpr std::uint32_t kPlainTypeOffset = 8;  // behind the count of references
constexpr int kHeapMaxBases = 100;
constexpr std::size_t kBytesOfOneRead = 256;

// Py_TPFLAGS_..._SUBCLASS: inherited, so they hold for classes in Python too.
constexpr std::pair<int, Kind> kByFlag[] = {
    {24, Kind::Int}, {25, Kind::List}, {26, Kind::Tuple},     {27, Kind::Bytes},
    {28, Kind::Str}, {29, Kind::Dict}, {30, Kind::Exception}, {31, Kind::Type},
};

// Those with a dot may lie on the objects, as a module made them; the others
// are the interpreter's own.
constexpr std::pair<std::string_view, Kind> kByName[] = {
    {"NoneType", Kind::None},
    {"ellipsis", Kind::Ellipsis},
    {"NotImplementedType", Kind::NotImplemented},
    {"bool", Kind::Bool},
    {"float", Kind::Float},
    {"complex", Kind::Complex},
    {"bytearray", Kind::ByteArray},
    {"collections.OrderedDict", Kind::OrderedDict},
    {"collections.defaultdict", Kind::DefaultDict},
    {"frozendict", Kind::FrozenDict},
    {"set", Kind::Set},
    {"frozenset", Kind::FrozenSet},
    {"collections.deque", Kind::Deque},
    {"range", Kind::Range},
    {"slice", Kind::Slice},
    {"mappingproxy", Kind::MappingProxy},
    {"types.SimpleNamespace", Kind::Namespace},
    {"function", Kind::Function},
    {"method", Kind::Method},
    {"builtin_function_or_method", Kind::Builtin},
    {"method_descriptor", Kind::MethodDescriptor},
    {"classmethod_descriptor", Kind::MethodDescriptor},
    {"wrapper_descriptor", Kind::WrapperDescriptor},
    {"member_descriptor", Kind::MemberDescriptor},
    {"getset_descriptor", Kind::GetSetDescriptor},
    {"property", Kind::Property},
    {"staticmethod", Kind::StaticMethod},
    {"classmethod", Kind::ClassMethod},
    {"module", Kind::Module},
    {"code", Kind::Code},
    {"cell", Kind::Cell},
    {"generator", Kind::Generator},
    {"coroutine", Kind::Coroutine},
    {"async_generator", Kind::AsyncGenerator},
    {"weakref", Kind::WeakReference},
    {"weakref.ReferenceType", Kind::WeakReference},
    {"_thread.lock", Kind::Lock},
    {"_thread.RLock", Kind::RLock},
    {"lazy_import", Kind::LazyImport},
    {"sentinel", Kind::Sentinel},
    {"memoryview", Kind::MemoryView},
    {"numpy.ndarray", Kind::Array},
    {"numpy.bool", Kind::ArrayScalar},
    {"numpy.bool_", Kind::ArrayScalar},
    {"numpy.int8", Kind::ArrayScalar},
    {"numpy.uint8", Kind::ArrayScalar},
    {"numpy.int16", Kind::ArrayScalar},
    {"numpy.uint16", Kind::ArrayScalar},
    {"numpy.int32", Kind::ArrayScalar},
    {"numpy.uint32", Kind::ArrayScalar},
    {"numpy.int64", Kind::ArrayScalar},
    {"numpy.uint64", Kind::ArrayScalar},
    {"numpy.float32", Kind::ArrayScalar},
    {"numpy.float64", Kind::ArrayScalar},
    {"torch._C._TensorBase", Kind::Tensor},
    {"torch._C.TensorBase", Kind::Tensor},
};

std::optional<Kind> own_kind(const Type& type) {
  if (type.in_python()) {
    return std::nullopt;
  }
  const auto* found = std::ranges::find(
      kByName, type.path, &std::pair<std::string_view, Kind>::first);
  return found == std::end(kByName) ? std::nullopt
                                    : std::optional(found->second);
}

}  // namespace

Status MeteredMemory::read(Address from, std::span<std::byte> out) const {
  const std::uint64_t cost = 1 + out.size() / kBytesOfOneRead;
  if (left_ < cost) {
    return fail(ErrorId::Unreadable, "more than one look should read");
  }
  left_ -= cost;
  TRY(pages_.read(from, out));
  note_read(from, out);
  return {};
}

std::size_t MeteredMemory::read_each(std::span<const Piece> pieces) const {
  if (left_ < pieces.size()) {
    return 0;
  }
  left_ -= pieces.size();
  const std::size_t count = pages_.read_each(pieces);
  for (const Piece& piece : pieces.first(count)) {
    note_read(piece.from, piece.out);
  }
  return count;
}

Result<ObjectReader> ObjectReader::open(const MemoryReader& memory,
                                        const PythonRuntime& python) {
  if (python.unknown) {
    return fail(ErrorId::UnsupportedPython,
                fmt::format("the objects of python {} are not known",
                            python.version.text()));
  }
  if (python.objects) {
    return ObjectReader(memory, python.layout, *python.objects,
                        TrustedKinds::all());
  }
  // Up to 3.12, and where a test made it up.
  const bool checked = python.layout.object_type != kPlainTypeOffset;
  const ObjectLayout* at =
      object_layout(python.version.minor, python.free_threaded,
                    checked && !python.version.at_least(13));
  if (at == nullptr) {
    return fail(ErrorId::UnsupportedPython,
                fmt::format("the objects of python {} are not known",
                            python.version.text()));
  }
  return ObjectReader(memory, python.layout, *at, TrustedKinds::all());
}

Result<ObjectReader> ObjectReader::open_values(const MemoryReader& memory,
                                               const PythonRuntime& python) {
  if (!python.unknown) {
    return open(memory, python);
  }
  const auto trusted = TRY(prove_objects(memory, python));
  return ObjectReader(memory, python.layout, *python.objects, trusted);
}

ObjectReader ObjectReader::open_with(const MemoryReader& memory,
                                     const CPythonLayout& layout,
                                     const ObjectLayout& at,
                                     TrustedKinds trusted) {
  return ObjectReader(memory, layout, at, trusted);
}

ObjectReader::ObjectReader(const MemoryReader& memory,
                           const CPythonLayout& layout,
                           const ObjectLayout& at,
                           TrustedKinds trusted)
    : memory_(std::make_unique<MeteredMemory>(memory)),
      layout_(layout),
      at_(at),
      trusted_(trusted) {}

Result<const Type*> ObjectReader::type_of(Address object) const {
  return type_at(TRY(pointer(object + layout_.object_type)));
}

Result<const Type*> ObjectReader::type_at(Address type) const {
  const auto known = types_.find(type);
  if (known != types_.end()) {
    return &known->second;
  }
  Type fresh = TRY(read_type(type));
  fresh.kind = kind_of(fresh);
  if (!trusts(fresh)) {
    fresh.opaque = true;
    fresh.kind = Kind::Object;
  }
  // Never forgotten: pointers to them are about. A look meets few.
  if (types_.size() >= kMaxTypes) {
    return nothing_at("type, or one too many,", type);
  }
  return &types_.emplace(type, std::move(fresh)).first->second;
}

Result<Type> ObjectReader::read_type(Address address) const {
  Type type;
  type.address = address;
  type.metatype = TRY(pointer(address + layout_.object_type));
  const Address name = TRY(pointer(address + at_.type_name));
  type.path = TRY(memory().read_string(name, kHeapMaxName));
  type.name = type.path.substr(type.path.rfind('.') + 1);
  type.basic_size = TRY(word(address + at_.type_basic_size));
  type.item_size =
      TRY(memory().read_value<std::int64_t>(address + at_.type_item_size));
  type.dict_offset =
      TRY(memory().read_value<std::int64_t>(address + at_.type_dict_offset));
  type.flags = TRY(word(address + at_.type_flags));
  type.base = TRY(pointer(address + at_.type_base));
  type.mro = TRY(pointer(address + at_.type_mro));
  type.dict = TRY(pointer(address + at_.type_dict));
  type.members = TRY(pointer(address + at_.type_members));
  return type;
}

bool ObjectReader::trusts(const Type& type) const {
  // What has room for one field behind the object has it there.
  const bool has_one_field = type.basic_size == at_.object_size + 8;
  return trusted_.has(type.kind) || (type.kind == Kind::Cell && has_one_field);
}

Kind ObjectReader::kind_of(const Type& type) const {
  std::optional<Kind> kind = own_kind(type);
  Address base = type.base;
  for (int i = 0; !kind && base && i < kHeapMaxBases; ++i) {
    const auto known = types_.find(base);
    const auto next =
        known == types_.end() ? read_type(base) : Result<Type>(known->second);
    if (!next) {
      break;
    }
    kind = own_kind(*next);
    base = next->base;
  }
  if (!kind) {
    for (const auto& [bit, of_bit] : kByFlag) {
      if ((type.flags >> bit & 1) != 0) {
        return of_bit;
      }
    }
  }
  return kind.value_or(Kind::Object);
}

Result<std::string> ObjectReader::name(Address str) const {
  return read_str(memory(), layout_, str, kHeapMaxName);
}

std::unexpected<Error> nothing_at(const char* what, Address place) {
  return fail(ErrorId::Unreadable,
              fmt::format("no {} at {:#x}", what, place.value));
}

}  // namespace hangdbg
