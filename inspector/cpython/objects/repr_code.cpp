// Functions, classes, modules, generators, exceptions, locks: what a program
// is made of, each as the interpreter prints it.
#include <fmt/core.h>

#include <string>

#include "inspector/cpython/objects/attributes.h"
#include "inspector/cpython/objects/generator.h"
#include "inspector/cpython/objects/locks.h"
#include "inspector/cpython/objects/quoted.h"
#include "inspector/cpython/objects/repr_writer.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMaxBuiltinName = 200;

Result<std::string> builtin_name(const ObjectReader& objects,
                                 Address definition) {
  return objects.memory().read_string(TRY(objects.pointer(definition)),
                                      kMaxBuiltinName);
}

Status write_method(ReprWriter& to, Address object) {
  const ObjectLayout& at = to.objects.at();
  const Address function = TRY(to.objects.pointer(object + at.method_function));
  const Type* const type = TRY(to.objects.type_of(function));
  const std::string name =
      type->kind == Kind::Function
          ? TRY(to.objects.name(
                TRY(to.objects.pointer(function + at.function_qualname))))
          : "?";
  to.put(fmt::format("<bound method {} of ", name));
  to.write(TRY(to.objects.pointer(object + at.method_self)));
  to.put(">");
  return {};
}

Status write_builtin(ReprWriter& to, Address object) {
  const ObjectLayout& at = to.objects.at();
  const auto name = TRY(builtin_name(
      to.objects, TRY(to.objects.pointer(object + at.builtin_definition))));
  const Address self = TRY(to.objects.pointer(object + at.builtin_self));
  const Type* const owner = self ? TRY(to.objects.type_of(self)) : nullptr;
  if (owner == nullptr || owner->kind == Kind::Module) {
    to.put(fmt::format("<built-in function {}>", name));
  } else {
    to.put(fmt::format("<built-in method {} of {} object at {:#x}>", name,
                       owner->path, self.value));
  }
  return {};
}

Status write_descriptor(ReprWriter& to, Address object, const Type& type) {
  const ObjectLayout& at = to.objects.at();
  const auto name = TRY(
      to.objects.name(TRY(to.objects.pointer(object + at.descriptor_name))));
  const Type* const owner = TRY(
      to.objects.type_at(TRY(to.objects.pointer(object + at.descriptor_type))));
  const char* what = type.kind == Kind::MethodDescriptor    ? "method"
                     : type.kind == Kind::WrapperDescriptor ? "slot wrapper"
                     : type.kind == Kind::MemberDescriptor  ? "member"
                                                            : "attribute";
  // From 3.15 on the class is left out where it is object, which alone has no
  // base.
  to.put(
      at.minor >= 15 && !owner->base
          ? fmt::format("<{} '{}'>", what, name)
          : fmt::format("<{} '{}' of '{}' objects>", what, name, owner->path));
  return {};
}

Result<std::optional<std::string>> str_in(const ObjectReader& objects,
                                          Address object,
                                          const char* name) {
  const Type* const type = TRY(objects.type_of(object));
  const auto found = TRY(find_in_instance(objects, object, *type, name));
  if (!found || TRY(objects.type_of(*found))->kind != Kind::Str) {
    return std::nullopt;
  }
  return TRY(objects.name(*found));
}

// Where it is from is in its __spec__, and in __file__ if it has none.
Status write_module(ReprWriter& to, Address object, const Type& type) {
  const auto name = TRY(str_in(to.objects, object, "__name__"));
  to.put(fmt::format("<module '{}'", name.value_or("?")));
  std::optional<std::string> file = TRY(str_in(to.objects, object, "__file__"));
  const auto spec = TRY(find_in_instance(to.objects, object, type, "__spec__"));
  const auto origin = spec ? str_in(to.objects, *spec, "origin")
                           : Result<std::optional<std::string>>();
  if (origin && *origin && (**origin == "built-in" || **origin == "frozen")) {
    to.put(fmt::format(" ({})", **origin));
  } else if (file) {
    to.put(fmt::format(" from '{}'", *file));
  }
  to.put(">");
  return {};
}

Status write_type(ReprWriter& to, Address object, const Type& type) {
  const Type* const self = TRY(to.objects.type_at(object));
  const bool is_enum = type.name == "EnumMeta" || type.name == "EnumType";
  to.put(is_enum ? fmt::format("<enum '{}'>", self->name)
                 : fmt::format("<class '{}'>",
                               TRY(qualified_name(to.objects, *self))));
  return {};
}

Status write_code_object(ReprWriter& to, Address object) {
  const CPythonLayout& at = to.objects.layout();
  const auto name =
      TRY(to.objects.name(TRY(to.objects.pointer(object + at.code_name))));
  const auto file =
      TRY(to.objects.name(TRY(to.objects.pointer(object + at.code_filename))));
  const auto line = TRY(to.objects.memory().read_value<std::int32_t>(
      object + at.code_first_line));
  to.put(fmt::format("<code object {} at {:#x}, file \"{}\", line {}>", name,
                     object.value, file, line));
  return {};
}

Status write_cell(ReprWriter& to, Address object) {
  const Address value =
      TRY(to.objects.pointer(object + to.objects.at().cell_value));
  to.put(fmt::format("<cell at {:#x}: ", object.value));
  to.put(value ? fmt::format("{} object at {:#x}>",
                             TRY(to.objects.type_of(value))->path, value.value)
               : "empty>");
  return {};
}

Status write_generator(ReprWriter& to, Address object, const Type& type) {
  const auto name = TRY(to.objects.name(
      TRY(to.objects.pointer(object + to.objects.at().generator_qualname))));
  to.put(fmt::format("<{} object {} at {:#x}, {}>", type.name, name,
                     object.value, TRY(generator_state(to.objects, object))));
  return {};
}

Status write_exception(ReprWriter& to, Address object, const Type& type) {
  to.put(type.name);
  const Address args =
      TRY(to.objects.pointer(object + to.objects.at().exception_args));
  const Items items = TRY(read_tuple(to.objects, args, to.limits.items));
  Listing listing(to, "(", items.size);
  for (std::size_t i = 0; listing.next(); ++i) {
    to.write(i < items.items.size() ? items.items[i] : Address{});
  }
  // 3.6 shows the tuple that they are.
  const bool one = items.size == 1 && to.objects.at().minor == 6;
  listing.close(one && !to.deep() ? ",)" : ")");
  return {};
}

Status write_weak_reference(ReprWriter& to, Address object) {
  const Address target =
      TRY(to.objects.pointer(object + to.objects.at().weakref_object));
  const Type* const type = TRY(to.objects.type_of(target));
  to.put(fmt::format("<weakref at {:#x}; ", object.value));
  to.put(type->kind == Kind::None
             ? "dead>"
             : fmt::format("to '{}' at {:#x}>", type->name, target.value));
  return {};
}

Status write_lock(ReprWriter& to, Address object, const Type& type) {
  const PythonLock lock = TRY(read_python_lock(to.objects, object));
  const std::string owner =
      lock.kind == Kind::RLock
          ? fmt::format(" owner={} count={}", lock.owner, lock.count)
          : "";
  to.put(fmt::format("<{} {} object{} at {:#x}>",
                     lock.locked ? "locked" : "unlocked", type.path, owner,
                     object.value));
  return {};
}

// PyLazyImportObject (Objects/lazyimportobject.c): builtins; the module, or the
// other lazy import that it is from; what of it is meant: a name, or names.
struct LazyImport {
  Address from;
  bool from_lazy = false;
  std::string attribute;  // "" if it is no name
  bool has_names = false;
};

Result<LazyImport> read_lazy_import(const ObjectReader& objects,
                                    Address object) {
  const Address first = object + objects.at().object_size;
  LazyImport read{.from = TRY(objects.pointer(first + 8))};
  read.from_lazy = TRY(objects.type_of(read.from))->kind == Kind::LazyImport;
  const Address names = TRY(objects.pointer(first + 16));
  if (names) {
    const Kind kind = TRY(objects.type_of(names))->kind;
    read.has_names =
        kind != Kind::Tuple || TRY(read_size(objects, names, Kind::Tuple)) > 0;
    read.attribute =
        kind == Kind::Str ? TRY(objects.name(names)) : std::string();
  }
  return read;
}

// What an import of it is called: `import a.b` gives a.
Result<std::string> lazy_import_path(const ObjectReader& objects,
                                     Address object,
                                     int depth = 0) {
  constexpr int kMostDeep = 20;
  const LazyImport read = TRY(read_lazy_import(objects, object));
  if (read.from_lazy) {
    return depth >= kMostDeep
               ? nothing_at("lazy import", object)
               : Result<std::string>(
                     TRY(lazy_import_path(objects, read.from, depth + 1)) +
                     "." + read.attribute);
  }
  const std::string module = TRY(objects.name(read.from));
  return read.has_names ? module : module.substr(0, module.find('.'));
}

Status write_lazy_import(ReprWriter& to, Address object) {
  const LazyImport read = TRY(read_lazy_import(to.objects, object));
  const std::string path =
      read.from_lazy ? TRY(lazy_import_path(to.objects, object))
                     : TRY(to.objects.name(read.from)) +
                           (!read.attribute.empty() ? "." + read.attribute
                            : read.has_names        ? "..."
                                                    : "");
  to.put(fmt::format("<lazy_import '{}'>", path));
  return {};
}

// Its name, its module, and how it is to be printed if not by its name
// (Objects/sentinelobject.c).
Status write_sentinel(ReprWriter& to, Address object) {
  const Address first = object + to.objects.at().object_size;
  const Address name = TRY(to.objects.pointer(first));
  const Address own = TRY(to.objects.pointer(first + 16));
  const bool has_own = own && TRY(to.objects.type_of(own))->kind == Kind::Str;
  to.put(TRY(to.objects.name(has_own ? own : name)));
  return {};
}

}  // namespace

Status write_code(ReprWriter& to, Address object, const Type& type) {
  switch (type.kind) {
    case Kind::Function:
      to.put(fmt::format("<function {} at {:#x}>",
                         TRY(to.objects.name(TRY(to.objects.pointer(
                             object + to.objects.at().function_qualname)))),
                         object.value));
      return {};
    case Kind::Method:
      return write_method(to, object);
    case Kind::Builtin:
      return write_builtin(to, object);
    case Kind::MethodDescriptor:
    case Kind::WrapperDescriptor:
    case Kind::MemberDescriptor:
    case Kind::GetSetDescriptor:
      return write_descriptor(to, object, type);
    case Kind::Module:
      return write_module(to, object, type);
    case Kind::Type:
      return write_type(to, object, type);
    case Kind::Code:
      return write_code_object(to, object);
    case Kind::Cell:
      return write_cell(to, object);
    case Kind::Generator:
    case Kind::Coroutine:
    case Kind::AsyncGenerator:
      return write_generator(to, object, type);
    case Kind::Exception:
      return write_exception(to, object, type);
    case Kind::WeakReference:
      return write_weak_reference(to, object);
    case Kind::Lock:
    case Kind::RLock:
      return write_lock(to, object, type);
    case Kind::LazyImport:
      return write_lazy_import(to, object);
    case Kind::Sentinel:
      return write_sentinel(to, object);
    case Kind::MemoryView:
      to.put(fmt::format("<memory at {:#x}>", object.value));
      return {};
    default:
      return write_plain(to, object, type);
  }
}

}  // namespace hangdbg
