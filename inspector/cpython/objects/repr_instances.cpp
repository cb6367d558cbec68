// Instances of classes that were written in Python, and others of which only
// the type is known.
#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

#include "inspector/cpython/objects/attributes.h"
#include "inspector/cpython/objects/numbers.h"
#include "inspector/cpython/objects/repr_writer.h"

namespace hangdbg {
namespace {

using Attributes = std::vector<std::pair<std::string, Address>>;

Result<Attributes> attributes_of(ReprWriter& to,
                                 Address object,
                                 const Type& type) {
  Attributes found;
  TRY(each_attribute(to.objects, object, type,
                     [&](const std::string& name, Address value) {
                       found.emplace_back(name, value);
                       return true;
                     }));
  return found;
}

void write_attributes(ReprWriter& to,
                      std::string_view open,
                      const Attributes& attributes,
                      std::string_view close) {
  Listing listing(to, open, attributes.size());
  for (std::size_t i = 0; listing.next(); ++i) {
    to.put(attributes[i].first + "=");
    to.write(attributes[i].second);
  }
  listing.close(close);
}

bool is_enum(const ObjectReader& objects, const Type& type) {
  const auto metatype = objects.type_at(type.metatype);
  return metatype &&
         ((*metatype)->name == "EnumMeta" || (*metatype)->name == "EnumType");
}

Result<bool> write_enum(ReprWriter& to, Address object, const Type& type) {
  const auto name = TRY(find_in_instance(to.objects, object, type, "_name_"));
  const auto value = TRY(find_in_instance(to.objects, object, type, "_value_"));
  if (!value) {
    return false;
  }
  to.put("<" + type.name);
  if (name && TRY(to.objects.type_of(*name))->kind == Kind::Str) {
    to.put("." + TRY(to.objects.name(*name)));
  }
  to.put(": ");
  to.write(*value);
  to.put(">");
  return true;
}

Result<bool> write_named_tuple(ReprWriter& to,
                               Address object,
                               const Type& type) {
  const auto fields = TRY(find_in_class(to.objects, type, "_fields"));
  if (!fields) {
    return false;
  }
  const Items names = TRY(read_tuple(to.objects, *fields, to.limits.items + 1));
  const Items values =
      TRY(read_items(to.objects, object, Kind::Tuple, 0, to.limits.items + 1));
  if (names.size != values.size) {
    return false;
  }
  Listing listing(to, type.name + "(", names.size);
  for (std::size_t i = 0; listing.next(); ++i) {
    to.put(TRY(to.objects.name(names.items[i])) + "=");
    to.write(values.items[i]);
  }
  listing.close(")");
  return true;
}

// The fields of a dataclass that its generated __repr__ shows.
Result<Attributes> shown_fields(ReprWriter& to,
                                Address fields,
                                const Attributes& attributes) {
  Attributes shown;
  for (const auto& attribute : attributes) {
    const auto field = TRY(find_key(to.objects, fields, attribute.first));
    bool show = field.has_value();
    if (field) {
      const Type* const type = TRY(to.objects.type_of(*field));
      TRY(each_attribute(to.objects, *field, *type,
                         [&](const std::string& name, Address value) {
                           if (name == "repr") {
                             const auto on = int_value(to.objects, value);
                             show = !on || *on != 0;
                           }
                           return name != "repr";
                         }));
    }
    if (show) {
      shown.push_back(attribute);
    }
  }
  return shown;
}

}  // namespace

Result<bool> write_special(ReprWriter& to, Address object, const Type& type) {
  if (!type.in_python()) {
    return false;
  }
  if (is_enum(to.objects, type)) {
    return write_enum(to, object, type);
  }
  return type.kind == Kind::Tuple ? write_named_tuple(to, object, type)
                                  : Result<bool>(false);
}

Status write_instance(ReprWriter& to, Address object, const Type& type) {
  if (!type.in_python()) {
    return write_plain(to, object, type);
  }
  const auto attributes = TRY(attributes_of(to, object, type));
  const auto fields =
      TRY(find_in_class(to.objects, type, "__dataclass_fields__"));
  if (fields && !to.deep()) {
    write_attributes(to,
                     TRY(to.objects.name(TRY(to.objects.pointer(
                         type.address + to.objects.at().heap_type_qualname)))) +
                         "(",
                     TRY(shown_fields(to, *fields, attributes)), ")");
    return {};
  }
  if (attributes.empty() || to.deep()) {
    return write_plain(to, object, type);
  }
  write_attributes(to, "<" + type.name + " ", attributes, ">");
  return {};
}

Status write_plain(ReprWriter& to, Address object, const Type& type) {
  to.put(fmt::format("<{} object at {:#x}>",
                     TRY(qualified_name(to.objects, type)), object.value));
  return {};
}

}  // namespace hangdbg
