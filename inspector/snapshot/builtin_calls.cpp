#include "inspector/snapshot/builtin_calls.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

namespace hangdbg {
namespace {

constexpr std::size_t kMaxSeen = 200'000;
constexpr std::size_t kBuiltinCallsMaxName = 200;
constexpr std::uint64_t kLowest = 1U << 16;  // address that anything has
constexpr std::uint64_t kFunction = 8;       // in PyMethodDef, behind the name
constexpr std::uint64_t kBuiltinCallsTags =
    7;  // of references; objects are aligned

// Of a frame with all that it has, in any version; some have less.
constexpr std::size_t kWordsOfFrame = 128;

std::vector<Address> find_each(const Target& target,
                               std::initializer_list<const char*> names) {
  std::vector<Address> found;
  for (const char* name : names) {
    if (const auto at = target.python.find(target.memory, name)) {
      found.push_back(*at);
    }
  }
  return found;
}

// Objects lie in memory that can be written.
bool may_be_object(const std::vector<Mapping>& maps, Address at) {
  const auto after = std::ranges::upper_bound(maps, at, {}, &Mapping::start);
  return after != maps.begin() && std::prev(after)->contains(at) &&
         std::prev(after)->writable;
}

}  // namespace

BuiltinCalls::BuiltinCalls(const Target& target)
    : subject_(target),
      function_types_(
          find_each(target, {"PyCFunction_Type", "PyCMethod_Type"})),
      descriptor_types_(
          find_each(target,
                    {"PyMethodDescr_Type", "PyClassMethodDescr_Type"})) {
  if (auto objects = ObjectReader::open(target.memory, target.python)) {
    objects_ = *std::move(objects);
  }
}

std::vector<Builtin> BuiltinCalls::among(std::span<const std::uint64_t> words) {
  std::vector<Builtin> found;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] < kLowest) {
      continue;
    }
    if (seen_.size() >= kMaxSeen) {
      seen_.clear();
    }
    const Address object{words[i] & ~kBuiltinCallsTags};
    const auto [at, is_new] = seen_.try_emplace(object);
    if (is_new) {
      at->second = read_builtin(object);
    }
    if (at->second) {
      found.push_back(*at->second);
      found.back().word = i;
    }
  }
  return found;
}

std::vector<Builtin> BuiltinCalls::among_values(Address python_frame) {
  std::array<std::uint64_t, kWordsOfFrame> words{};
  return subject_.memory.read(python_frame,
                              std::as_writable_bytes(std::span(words)))
             ? among(words)
             : std::vector<Builtin>();
}

std::optional<Builtin> BuiltinCalls::read_builtin(Address object) const {
  if (!objects_ || !may_be_object(subject_.maps, object)) {
    return {};
  }
  objects_->allow_reads();
  const auto type =
      objects_->pointer(object + subject_.python.layout.object_type);
  const auto is_one_of = [&](const std::vector<Address>& types) {
    return type && std::ranges::find(types, *type) != types.end();
  };
  const auto builtin = is_one_of(function_types_) ? read_function(object)
                       : is_one_of(descriptor_types_)
                           ? read_descriptor(object)
                           : fail(ErrorId::Unreadable, "no builtin");
  return builtin ? std::optional(*builtin) : std::nullopt;
}

Result<Builtin> BuiltinCalls::read_function(Address object) const {
  const Address definition =
      TRY(objects_->pointer(object + objects_->at().builtin_definition));
  const Address self =
      TRY(objects_->pointer(object + objects_->at().builtin_self));
  const auto name = TRY(objects_->memory().read_string(
      TRY(objects_->pointer(definition)), kBuiltinCallsMaxName));
  const Type* owner = self ? TRY(objects_->type_of(self)) : nullptr;
  const bool is_method = owner != nullptr && owner->kind != Kind::Module;
  return Builtin{
      TRY(objects_->pointer(definition + kFunction)),
      is_method ? fmt::format("<built-in method {} of {}>", name, owner->path)
                : fmt::format("<built-in function {}>", name)};
}

// PyMethodDescrObject: behind the type, the name and the qualified name.
Result<Builtin> BuiltinCalls::read_descriptor(Address object) const {
  const Address definition =
      TRY(objects_->pointer(object + objects_->at().descriptor_name + 16));
  const Type* owner = TRY(objects_->type_at(
      TRY(objects_->pointer(object + objects_->at().descriptor_type))));
  const auto name = TRY(objects_->memory().read_string(
      TRY(objects_->pointer(definition)), kBuiltinCallsMaxName));
  return Builtin{TRY(objects_->pointer(definition + kFunction)),
                 fmt::format("<built-in method {} of {}>", name, owner->path)};
}

std::optional<std::string> name_of(std::span<const Builtin> builtins,
                                   Address function) {
  std::optional<std::string> name;
  for (const Builtin& each : builtins) {
    if (each.function == function) {
      if (name && *name != each.name) {
        return {};
      }
      name = each.name;
    }
  }
  return name;
}

}  // namespace hangdbg
