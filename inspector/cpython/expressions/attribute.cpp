#include "inspector/cpython/expressions/attribute.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "inspector/cpython/objects/arrays.h"
#include "inspector/cpython/objects/attributes.h"

namespace hangdbg {
namespace {

// Py_T_... of those that are no objects (Include/descrobject.h): their size,
// and whether they have a sign.
struct Integral {
  int type;
  std::size_t size;
  bool is_signed;
};
constexpr Integral kIntegrals[] = {
    {0, 2, true},  {1, 4, true},   {2, 8, true},   {8, 1, true},
    {9, 1, false}, {10, 2, false}, {11, 4, false}, {12, 8, false},
    {17, 8, true}, {18, 8, false}, {19, 8, true},
};
constexpr int kBool = 14;
constexpr int kDouble = 4;
constexpr int kObjectOrNone = 6;

std::string text_of(std::uint64_t word, const Integral& as) {
  if (as.size < 8) {
    word &= (std::uint64_t{1} << as.size * 8) - 1;
  }
  if (!as.is_signed) {
    return std::to_string(word);
  }
  const auto shift = 64 - as.size * 8;
  return std::to_string(static_cast<std::int64_t>(word << shift) >>
                        static_cast<std::int64_t>(shift));
}

Result<Value> read_member(const ObjectReader& objects,
                          Address object,
                          const Member& member) {
  const Address place = object + static_cast<std::uint64_t>(member.offset);
  if (member.is_object()) {
    const Address value = TRY(objects.pointer(place));
    if (value) {
      return value;
    }
    return member.type == kObjectOrNone
               ? Result<Value>(Scalar())
               : raised(
                     "AttributeError",
                     fmt::format("{} is a slot that is not set", member.name));
  }
  if (member.type == kDouble) {
    return Scalar(TRY(objects.memory().read_value<double>(place)));
  }
  if (member.type == kBool) {
    return Scalar(TRY(objects.memory().read_value<char>(place)) != 0);
  }
  const auto* as = std::ranges::find(kIntegrals, member.type, &Integral::type);
  if (as == std::end(kIntegrals)) {
    return runs_code(member.name + " is made by C code");
  }
  std::uint64_t word = 0;
  TRY(objects.memory().read(
      place, std::as_writable_bytes(std::span(&word, 1)).first(as->size)));
  return integer(text_of(word, *as));
}

Result<std::optional<Member>> find_member(const ObjectReader& objects,
                                          const Type& type,
                                          std::string_view name) {
  for (const Type* base : TRY(bases_of(objects, type))) {
    const auto members = TRY(members_of(objects, *base));
    const auto found = std::ranges::find(members, name, &Member::name);
    if (found != members.end()) {
      return *found;
    }
  }
  return std::nullopt;
}

// What an array or a tensor is; none for its other attributes.
Result<std::optional<Value>> read_of_array(const ObjectReader& objects,
                                           Address object,
                                           Kind kind,
                                           std::string_view name) {
  const bool tensor = kind == Kind::Tensor;
  const bool known = name == "shape" || name == "dtype" || name == "ndim" ||
                     (name == "device" && tensor);
  if (!known) {
    return std::nullopt;
  }
  const ArrayShape shape =
      TRY(tensor ? read_tensor(objects, object) : read_array(objects, object));
  if (name == "ndim") {
    return integer(std::to_string(shape.sizes.size()));
  }
  if (name == "dtype") {
    return tensor ? Told{"dtype", shape.dtype}
                  : Told{"dtype", fmt::format("dtype('{}')", shape.dtype)};
  }
  if (name == "device") {
    return Told{"device", shape.device};
  }
  return Told{tensor ? "Size" : "tuple", shape.text()};
}

// What every object has, and no dict in memory shows.
Result<std::optional<Value>> read_special(const ObjectReader& objects,
                                          Address object,
                                          const Type& type,
                                          std::string_view name) {
  if (name == "__class__") {
    return type.address;
  }
  if (name == "__name__" && type.kind == Kind::Type) {
    return Scalar(to_utf32(TRY(objects.type_at(object))->name));
  }
  if (name == "__qualname__" && type.kind == Kind::Function) {
    return TRY(objects.pointer(object + objects.at().function_qualname));
  }
  if (name == "args" && type.kind == Kind::Exception) {
    return TRY(objects.pointer(object + objects.at().exception_args));
  }
  if (name == "__self__" && type.kind == Kind::Method) {
    return TRY(objects.pointer(object + objects.at().method_self));
  }
  return type.kind == Kind::Array || type.kind == Kind::Tensor
             ? read_of_array(objects, object, type.kind, name)
             : std::nullopt;
}

// What the class has under that name, as the instance shows it.
Result<Value> bind(const ObjectReader& objects,
                   const Type& type,
                   Address found,
                   const std::string& name) {
  const Type* const kind = TRY(objects.type_of(found));
  switch (kind->kind) {
    case Kind::Property:
      return runs_code(fmt::format("{} is a property of {}", name, type.name));
    case Kind::GetSetDescriptor:
      return runs_code(name + " is made by C code");
    case Kind::StaticMethod:
    case Kind::ClassMethod:
      return TRY(objects.pointer(found + objects.at().object_size));
    default:
      return TRY(has_own_method(objects, *kind, "__get__"))
                 ? runs_code(fmt::format("{} is a {}, a descriptor of {}", name,
                                         kind->name, type.name))
                 : Result<Value>(found);
  }
}

Result<bool> is_data_descriptor(const ObjectReader& objects, Address found) {
  const Type* const kind = TRY(objects.type_of(found));
  return kind->kind == Kind::Property || kind->kind == Kind::GetSetDescriptor ||
         kind->kind == Kind::MemberDescriptor ||
         TRY(has_own_method(objects, *kind, "__set__"));
}

Result<Value> missing_attribute(const ObjectReader& objects,
                                const Type& type,
                                const std::string& name) {
  for (const char* hook : {"__getattr__", "__getattribute__"}) {
    if (TRY(has_own_method(objects, type, hook))) {
      return runs_code(fmt::format("{} has a {} of its own", type.name, hook));
    }
  }
  return raised("AttributeError",
                fmt::format("'{}' object has no attribute '{}' in memory",
                            type.name, name));
}

}  // namespace

Result<Value> read_attribute(const ObjectReader& objects,
                             Address object,
                             const std::string& name) {
  const Type* const type = TRY(objects.type_of(object));
  if (const auto special = TRY(read_special(objects, object, *type, name))) {
    return *special;
  }
  const auto in_class = TRY(find_in_class(objects, *type, name));
  const auto member = TRY(find_member(objects, *type, name));
  if (in_class && !member && TRY(is_data_descriptor(objects, *in_class))) {
    return bind(objects, *type, *in_class, name);
  }
  if (member) {
    return read_member(objects, object, *member);
  }
  // The attributes of a class are its own and its bases', shown as they are.
  if (type->kind == Kind::Type) {
    const Type* const self = TRY(objects.type_at(object));
    if (const auto found = TRY(find_in_class(objects, *self, name))) {
      return *found;
    }
  } else if (const auto found =
                 TRY(find_in_instance(objects, object, *type, name))) {
    return *found;
  }
  return in_class ? bind(objects, *type, *in_class, name)
                  : missing_attribute(objects, *type, name);
}

Result<bool> has_own_method(const ObjectReader& objects,
                            const Type& type,
                            std::string_view name) {
  if (!type.on_heap()) {
    return false;
  }
  const auto found = TRY(find_in_class(objects, type, name));
  return found && TRY(objects.type_of(*found))->kind == Kind::Function;
}

}  // namespace hangdbg
