#include "inspector/cpython/objects/object_proof.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "inspector/cpython/objects/attributes.h"
#include "inspector/cpython/objects/items.h"
#include "inspector/cpython/objects/numbers.h"
#include "inspector/cpython/runtime/interpreters.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostWitnesses = 1000;  // items of one container

// What follows reads with a row that may be wrong: nothing it says is taken
// for more than an answer to "is it as it must be?".
struct ObjectProof {
  const ObjectReader& objects;
  Address modules, sys;  // dicts

  std::optional<Address> in_sys(std::string_view name) const {
    return in(sys, name);
  }
  std::optional<Address> in(Address dict, std::string_view name) const {
    const auto found = find_key(objects, dict, name);
    return found ? *found : std::nullopt;
  }
  Kind kind(std::optional<Address> object) const {
    const auto type =
        object ? objects.type_of(*object) : Result<const Type*>(nullptr);
    return type && *type != nullptr ? (*type)->kind : Kind::Object;
  }
  std::string text(std::optional<Address> str) const {
    return kind(str) == Kind::Str ? objects.name(*str).value_or("") : "";
  }
  bool is_int(std::optional<Address> object, std::int64_t value) const {
    const auto read = kind(object) == Kind::Int
                          ? int_value(objects, *object)
                          : Result<std::optional<std::int64_t>>();
    return read && *read == value;
  }
  std::optional<Items> items(std::optional<Address> object, Kind of) const {
    auto read = kind(object) == of
                    ? read_items(objects, *object, of, 0, kMostWitnesses)
                    : fail(ErrorId::Unreadable, "another kind");
    return read ? std::optional(*std::move(read)) : std::nullopt;
  }
  bool are_text(const Items& items) const {
    return std::ranges::all_of(items.items, [&](Address item) {
      return kind(item) == Kind::Str && objects.name(item).has_value();
    });
  }

  bool types(Address code_type) const;
  bool texts() const;
  bool ints() const;
  bool floats() const;
  bool lists() const;
  bool sets() const;
  bool module() const;
  bool instances() const;
  bool classes() const;
  bool functions() const;
  bool builtins() const;
};

// The type of all types says of itself what it is, and where a type's dict is.
bool ObjectProof::types(Address code_type) const {
  const auto metatype = objects.type_of(code_type);
  if (!metatype) {
    return false;
  }
  const Type& type = **metatype;
  const auto base = objects.type_at(type.base);
  const auto mro = objects.type_of(type.mro);
  const auto order = items(type.mro, Kind::Tuple);
  const auto members = members_of(objects, type);
  constexpr std::int64_t kMemberSize = 40;  // of a PyMemberDef, its item
  return type.name == "type" && type.metatype == type.address &&
         type.kind == Kind::Type && base && (*base)->name == "object" &&
         (*base)->base == Address{} && mro && order && order->size == 2 &&
         order->items[0] == type.address && order->items[1] == type.base &&
         type.item_size == kMemberSize &&
         type.dict_offset ==
             static_cast<std::int64_t>(objects.at().type_dict) &&
         members && !members->empty() &&
         members->front().name == "__basicsize__" &&
         members->front().offset ==
             static_cast<std::int64_t>(objects.at().type_basic_size);
}

bool ObjectProof::texts() const {
  return text(in_sys("platform")) == "linux" &&
         text(in_sys("byteorder")) == "little" &&
         in(modules, "sys").has_value();
}

bool ObjectProof::ints() const {
  const auto numbers = items(in_sys("float_info"), Kind::Tuple);
  // max, max_exp, max_10_exp, min, min_exp
  return is_int(in_sys("maxsize"), std::numeric_limits<std::int64_t>::max()) &&
         is_int(in_sys("maxunicode"), 0x10ffff) && numbers &&
         numbers->items.size() > 4 &&
         is_int(numbers->items[1], std::numeric_limits<double>::max_exponent) &&
         is_int(numbers->items[4], std::numeric_limits<double>::min_exponent);
}

bool ObjectProof::floats() const {
  const auto numbers = items(in_sys("float_info"), Kind::Tuple);
  if (!numbers || numbers->items.empty() ||
      kind(numbers->items[0]) != Kind::Float) {
    return false;
  }
  const auto most = objects.memory().read_value<double>(
      numbers->items[0] + objects.at().float_value);
  return most && *most == std::numeric_limits<double>::max();
}

// PyListObject has its items apart, and how many there is room for.
bool ObjectProof::lists() const {
  const auto path = items(in_sys("path_hooks"), Kind::List);
  const auto arguments = items(in_sys("argv"), Kind::List);
  return path && path->size > 0 && path->size < kMostWitnesses &&
         path->items.size() == path->size && arguments && arguments->size > 0 &&
         are_text(*arguments);
}

bool ObjectProof::sets() const {
  const auto names = items(in_sys("stdlib_module_names"), Kind::FrozenSet);
  return names && names->size > 100 && names->items.size() == names->size &&
         are_text(*names);
}

bool ObjectProof::module() const {
  const auto object = in(modules, "sys");
  const auto type =
      object ? objects.type_of(*object) : Result<const Type*>(nullptr);
  if (!type || *type == nullptr || (*type)->kind != Kind::Module) {
    return false;
  }
  const auto name = find_in_instance(objects, *object, **type, "__name__");
  return name && text(*name) == "sys";
}

// sys.__spec__ has its attributes as instances of other classes have them.
bool ObjectProof::instances() const {
  const auto spec = in_sys("__spec__");
  const auto type =
      spec ? objects.type_of(*spec) : Result<const Type*>(nullptr);
  if (!type || *type == nullptr || !(*type)->in_python() ||
      (*type)->name != "ModuleSpec" || !(*type)->has_managed_dict()) {
    return false;
  }
  const auto name = find_in_instance(objects, *spec, **type, "name");
  const auto origin = find_in_instance(objects, *spec, **type, "origin");
  return name && text(*name) == "sys" && origin && text(*origin) == "built-in";
}

bool ObjectProof::classes() const {
  const auto spec = in_sys("__spec__");
  const auto type =
      spec ? objects.type_of(*spec) : Result<const Type*>(nullptr);
  const auto name = type && *type != nullptr ? qualified_name(objects, **type)
                                             : Result<std::string>("");
  return name && name->ends_with(".ModuleSpec");
}

// A function of os, and one of sys in C.
bool ObjectProof::functions() const {
  const auto os = in(modules, "os");
  const auto type = os ? objects.type_of(*os) : Result<const Type*>(nullptr);
  const auto function = type && *type != nullptr
                            ? find_in_instance(objects, *os, **type, "makedirs")
                            : Result<std::optional<Address>>(std::nullopt);
  if (!function || kind(*function) != Kind::Function) {
    return false;
  }
  const auto name =
      objects.pointer(**function + objects.at().function_qualname);
  return name && text(*name) == "makedirs";
}

bool ObjectProof::builtins() const {
  const auto exit = in_sys("getrefcount");
  if (kind(exit) != Kind::Builtin) {
    return false;
  }
  const auto definition =
      objects.pointer(*exit + objects.at().builtin_definition);
  const auto name =
      definition ? objects.pointer(*definition) : Result<Address>(Address{});
  const auto text =
      name ? objects.memory().read_string(*name, 64) : Result<std::string>("");
  const auto self = objects.pointer(*exit + objects.at().builtin_self);
  return text && *text == "getrefcount" && self && kind(*self) == Kind::Module;
}

}  // namespace

Result<TrustedKinds> prove_objects(const MemoryReader& memory,
                                   const PythonRuntime& python) {
  const auto not_known = [&] {
    return fail(
        ErrorId::UnsupportedPython,
        fmt::format("python {} is not known to this hangdbg, and its objects "
                    "are not as those of the versions before",
                    python.version.text()),
        "hangdbg dump PID shows its stacks");
  };
  const ObjectLayout& at = *python.objects;
  const auto all_there = {at.frame_globals, at.code_names,
                          at.interpreter_modules, at.interpreter_sys_dict};
  if (std::ranges::find(all_there, ObjectLayout::kAbsent) != all_there.end()) {
    return not_known();
  }
  const Address main = TRY(read_interpreters(memory, python)).back().state;
  const auto objects =
      ObjectReader::open_with(memory, python.layout, at, TrustedKinds::all());
  objects.allow_reads();
  const ObjectProof proof{
      objects, TRY(memory.read_address(main + at.interpreter_modules)),
      TRY(memory.read_address(main + at.interpreter_sys_dict))};
  if (!proof.types(python.code_type) || !proof.texts()) {
    return not_known();
  }
  TrustedKinds trusted;
  for (const Kind kind :
       {Kind::Type, Kind::Tuple, Kind::Dict, Kind::Str, Kind::Code, Kind::None,
        Kind::Ellipsis, Kind::NotImplemented}) {
    trusted.add(kind);
  }
  const auto add_if = [&](bool holds, std::initializer_list<Kind> kinds) {
    for (const Kind kind : kinds) {
      if (holds) {
        trusted.add(kind);
      }
    }
  };
  // How many bytes there are is where a tuple has it, too; a line table was
  // read by it.
  add_if(python.layout.bytes_size == at.size, {Kind::Bytes});
  add_if(proof.ints(), {Kind::Int, Kind::Bool});
  add_if(proof.floats(), {Kind::Float});
  add_if(proof.lists(), {Kind::List});
  add_if(proof.sets(), {Kind::Set, Kind::FrozenSet});
  add_if(proof.module(), {Kind::Module});
  add_if(proof.classes() && proof.instances(), {Kind::Object});
  add_if(proof.functions(), {Kind::Function});
  add_if(proof.builtins(), {Kind::Builtin});
  return trusted;
}

}  // namespace hangdbg
