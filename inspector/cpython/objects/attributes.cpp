#include "inspector/cpython/objects/attributes.h"

#include <fmt/core.h>

#include <algorithm>

#include "inspector/cpython/objects/items.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMaxBases = 200;
constexpr std::size_t kMaxMembers = 500;
constexpr std::size_t kMaxMemberName = 200;

// PyMemberDef (Include/structmember.h).
struct MemberDefinition {
  Address name;
  std::int32_t type;
  std::int64_t offset;
  std::int32_t flags;
  Address doc;
};

struct InstanceDict {
  Address dict;          // or none, and then
  Address keys, values;  // or neither
};

Result<InstanceDict> managed_dict(const ObjectReader& objects,
                                  Address object,
                                  const Type& type) {
  const ObjectLayout& at = objects.at();
  const Address place = object - at.managed_dict_before;
  const Address keys =
      TRY(objects.pointer(type.address + at.heap_type_cached_keys));
  const auto word = TRY(objects.word(place));
  switch (at.instance_values) {
    case InstanceValues::BeforeDict: {
      const Address values = TRY(objects.pointer(place - 8));
      return values ? InstanceDict{{}, keys, values}
                    : InstanceDict{Address{word}, {}, {}};
    }
    case InstanceValues::TaggedDict:
      return (word & 1) != 0 ? InstanceDict{{}, keys, Address{word + 1}}
                             : InstanceDict{Address{word}, {}, {}};
    case InstanceValues::Inline: {
      if (word != 0 || !type.has_inline_values()) {
        return InstanceDict{Address{word}, {}, {}};
      }
      // capacity, size, embedded, valid
      const Address values = object + type.basic_size;
      const auto valid =
          TRY(objects.memory().read_value<std::uint8_t>(values + 3));
      return valid != 0 ? InstanceDict{{}, keys, values} : InstanceDict{};
    }
    case InstanceValues::None:
      break;
  }
  return InstanceDict{};
}

Result<InstanceDict> instance_dict(const ObjectReader& objects,
                                   Address object,
                                   const Type& type) {
  if (type.opaque) {
    return fail(ErrorId::UnsupportedPython,
                fmt::format("what is in objects of type {} is not known in "
                            "this version of Python",
                            type.name));
  }
  if (type.has_managed_dict() &&
      objects.at().instance_values != InstanceValues::None) {
    return managed_dict(objects, object, type);
  }
  if (type.dict_offset == 0) {
    return InstanceDict{};
  }
  // Modulo 2^64 throughout, as nothing of this need be true.
  auto offset = static_cast<std::uint64_t>(type.dict_offset);
  if (type.dict_offset < 0) {  // from the end, behind the items
    const auto size = TRY(objects.word(object + objects.at().size));
    const std::uint64_t count = size >> 63 != 0 ? -size : size;
    const auto items = count * static_cast<std::uint64_t>(type.item_size);
    offset += (type.basic_size + items + 7) & ~std::uint64_t{7};
  }
  return InstanceDict{TRY(objects.pointer(object + offset)), {}, {}};
}

}  // namespace

Status each_in_instance(const ObjectReader& objects,
                        Address object,
                        const Type& type,
                        const VisitEntry& visit) {
  const InstanceDict in = TRY(instance_dict(objects, object, type));
  if (in.dict) {
    return each_entry(objects, in.dict, visit);
  }
  return in.values ? each_value(objects, in.keys, in.values, visit) : Status{};
}

Result<std::vector<Member>> members_of(const ObjectReader& objects,
                                       const Type& type) {
  std::vector<Member> members;
  for (std::size_t i = 0; type.members && i < kMaxMembers; ++i) {
    const auto definition = TRY(objects.memory().read_value<MemberDefinition>(
        type.members + i * sizeof(MemberDefinition)));
    if (!definition.name) {
      break;
    }
    members.push_back(
        {TRY(objects.memory().read_string(definition.name, kMaxMemberName)),
         definition.type, definition.offset});
  }
  return members;
}

Result<std::vector<const Type*>> bases_of(const ObjectReader& objects,
                                          const Type& type) {
  const Items mro = TRY(read_tuple(objects, type.mro, kMaxBases));
  std::vector<const Type*> bases;
  for (const Address base : mro.items) {
    bases.push_back(TRY(objects.type_at(base)));
  }
  return bases;
}

Result<std::optional<Address>> find_in_class(const ObjectReader& objects,
                                             const Type& type,
                                             std::string_view name) {
  for (const Type* base : TRY(bases_of(objects, type))) {
    if (base->dict) {
      if (const auto found = TRY(find_key(objects, base->dict, name))) {
        return found;
      }
    }
  }
  return std::nullopt;
}

Result<std::optional<Address>> find_in_instance(const ObjectReader& objects,
                                                Address object,
                                                const Type& type,
                                                std::string_view name) {
  const InstanceDict in = TRY(instance_dict(objects, object, type));
  if (in.dict) {
    return find_key(objects, in.dict, name);
  }
  std::optional<Address> found;
  if (in.values) {
    TRY(each_value(objects, in.keys, in.values,
                   look_for(objects, name, found)));
  }
  return found;
}

Status each_attribute(
    const ObjectReader& objects,
    Address object,
    const Type& type,
    const std::function<bool(const std::string& name, Address value)>& visit) {
  auto bases = TRY(bases_of(objects, type));
  std::ranges::reverse(bases);
  for (const Type* base : bases) {
    if (!base->in_python()) {
      continue;
    }
    for (const Member& member : TRY(members_of(objects, *base))) {
      if (!member.is_object() || member.name.starts_with("__")) {
        continue;
      }
      const Address value = TRY(
          objects.pointer(object + static_cast<std::uint64_t>(member.offset)));
      if (value && !visit(member.name, value)) {
        return {};
      }
    }
  }
  return each_in_instance(objects, object, type, [&](const DictEntry& entry) {
    const auto name = objects.name(entry.key);
    return visit(name ? *name : "?", entry.value);
  });
}

Result<std::string> qualified_name(const ObjectReader& objects,
                                   const Type& type) {
  if (!type.on_heap()) {
    return type.path.starts_with("builtins.") ? type.name : type.path;
  }
  const auto qualname = TRY(objects.name(
      TRY(objects.pointer(type.address + objects.at().heap_type_qualname))));
  const auto module = TRY(find_key(objects, type.dict, "__module__"));
  const auto module_name =
      module ? objects.name(*module) : Result<std::string>("builtins");
  return !module_name || *module_name == "builtins"
             ? qualname
             : *module_name + "." + qualname;
}

}  // namespace hangdbg
