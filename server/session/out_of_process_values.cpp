#include "server/session/out_of_process_values.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "inspector/cpython/expressions/peek.h"
#include "inspector/cpython/objects/attributes.h"
#include "inspector/cpython/objects/dict.h"
#include "inspector/cpython/objects/items.h"
#include "inspector/cpython/objects/repr.h"
#include "inspector/cpython/stacks/python_locals.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostKept = 100'000;
constexpr std::size_t kOutsideValuesMostAtOnce = 1'000;  // children
constexpr ReprLimits kOneLine{.depth = 2, .items = 20, .characters = 1'000};

// How many elements it has: 0 of what has none, or cannot be read.
std::int64_t count_elements(const ObjectReader& objects,
                            Address object,
                            Kind kind) {
  if (!has_items(kind) && !is_dict(kind)) {
    return 0;
  }
  const auto size = read_size(objects, object, kind);
  return size ? static_cast<std::int64_t>(std::min(*size, 1UL << 40)) : 0;
}

bool has_attributes(const ObjectReader& objects,
                    Address object,
                    const Type& type) {
  bool any = false;
  [[maybe_unused]] const Status read =
      each_attribute(objects, object, type, [&](const std::string&, Address) {
        any = true;
        return false;
      });
  return any;
}

dap::Scope scope(std::string name, std::int64_t reference, bool expensive) {
  dap::Scope made;
  made.name = std::move(name);
  made.variables_reference = reference;
  made.expensive = expensive;
  return made;
}

}  // namespace

template <class T>
std::int64_t OutOfProcessValues::Numbered<T>::add(T one) {
  if (kept_.size() == kMostKept) {
    kept_.pop_front();
    ++first_;
  }
  kept_.push_back(std::move(one));
  return first_ + std::ssize(kept_) - 1;
}

template <class T>
Result<T> OutOfProcessValues::Numbered<T>::find(std::int64_t number) const {
  if (number < first_ || number >= first_ + std::ssize(kept_)) {
    return fail(ErrorId::NoSuchFrame,
                "not of this look; ask for the stack again");
  }
  return kept_[static_cast<std::size_t>(number - first_)];
}

std::int64_t OutOfProcessValues::add(PythonFrame frame) {
  return frames_.add(std::move(frame));
}

Result<dap::Scopes::Body> OutOfProcessValues::scopes(std::int64_t number) {
  const PythonFrame frame = TRY(frames_.find(number));
  if (!frame.address) {
    return dap::Scopes::Body();
  }
  using Kind = Expandable::Kind;
  const auto reference = [&](Kind kind) {
    return expandable_.add({kind, frame.address, frame.code, {}});
  };
  dap::Scopes::Body body;
  body.scopes.push_back(
      scope("Locals (read-only)", reference(Kind::Locals), false));
  body.scopes.front().presentation_hint = "locals";
  body.scopes.push_back(
      scope("Globals (read-only)", reference(Kind::Globals), true));
  return body;
}

// Elements come before attributes, as the agent has it.
Result<dap::Variables::Body> OutOfProcessValues::variables(
    const dap::Variables::Arguments& wanted) {
  const Expandable in = TRY(expandable_.find(wanted.variables_reference));
  const ObjectReader objects =
      TRY(ObjectReader::open(target_.memory, target_.python));
  objects.allow_reads();
  const auto first = static_cast<std::uint64_t>(
      std::max(wanted.start.value_or(0), std::int64_t{0}));
  const auto count = wanted.count.value_or(0);
  const auto most = count > 0 ? std::min(static_cast<std::size_t>(count),
                                         kOutsideValuesMostAtOnce)
                              : kOutsideValuesMostAtOnce;
  dap::Variables::Body body;
  if (in.kind == Expandable::Kind::Object && wanted.filter != "named") {
    body.variables = indexed(objects, in.object, first, most);
  }
  if (wanted.filter != "indexed" && first == 0) {
    auto names = TRY(named(objects, in));
    std::ranges::move(names, std::back_inserter(body.variables));
  }
  if (body.variables.size() > most) {
    dap::Variable rest;
    rest.name = "...";
    rest.value = fmt::format("{} more", body.variables.size() - most);
    body.variables.resize(most);
    body.variables.push_back(std::move(rest));
  }
  return body;
}

Result<dap::Evaluate::Body> OutOfProcessValues::evaluate(
    const dap::Evaluate::Arguments& wanted) const {
  const PythonFrame frame = TRY(frames_.find(wanted.frame_id.value_or(0)));
  if (!frame.address) {
    return fail(ErrorId::NoSuchFrame, "a C function has no Python names",
                "choose the Python function that has called it");
  }
  const Expression expression = TRY(parse_expression(wanted.expression));
  const ObjectReader objects =
      TRY(ObjectReader::open(target_.memory, target_.python));
  objects.allow_reads(kReadsOfASearch);
  Peeked peeked = TRY(peek(objects, frame, expression, kFullRepr));
  dap::Evaluate::Body body;
  body.result = std::move(peeked.text);
  body.type = std::move(peeked.type);
  return body;
}

// ---- what is in it

std::vector<dap::Variable> OutOfProcessValues::indexed(
    const ObjectReader& objects,
    Address object,
    std::uint64_t first,
    std::size_t most) {
  std::vector<dap::Variable> found;
  const auto type = objects.type_of(object);
  if (type && has_items((*type)->kind)) {
    if (const auto read =
            read_items(objects, object, (*type)->kind, first, most)) {
      for (std::size_t i = 0; i < read->items.size(); ++i) {
        found.push_back(
            shown(objects, fmt::format("{}", first + i), read->items[i]));
      }
    }
  } else if (type && is_dict((*type)->kind)) {
    std::uint64_t at = 0;
    [[maybe_unused]] const Status read =
        each_entry(objects, object, [&](const DictEntry& entry) {
          if (at++ >= first) {
            found.push_back(shown(objects, repr(objects, entry.key, kOneLine),
                                  entry.value));
          }
          return found.size() < most;
        });
  }
  return found;
}

Result<std::vector<dap::Variable>> OutOfProcessValues::named(
    const ObjectReader& objects,
    const Expandable& in) {
  std::vector<dap::Variable> found;
  if (in.kind == Expandable::Kind::Locals) {
    for (const Variable& local : TRY(read_locals(objects, in.frame, in.code))) {
      found.push_back(shown(objects, local.name, local.object));
      found.back().evaluate_name = local.name;
    }
  } else if (in.kind == Expandable::Kind::Globals) {
    for (const Variable& global :
         TRY(read_globals(objects, in.frame, in.code))) {
      found.push_back(shown(objects, global.name, global.object));
      found.back().evaluate_name = global.name;
    }
  } else if (const auto type = objects.type_of(in.object)) {
    TRY(each_attribute(objects, in.object, **type,
                       [&](const std::string& name, Address value) {
                         found.push_back(shown(objects, name, value));
                         return found.size() <= kOutsideValuesMostAtOnce;
                       }));
  }
  return found;
}

dap::Variable OutOfProcessValues::shown(const ObjectReader& objects,
                                        std::string name,
                                        Address object) {
  objects.allow_reads();
  dap::Variable variable;
  variable.name = printable(name);
  variable.value = repr(objects, object, kOneLine);
  variable.presentation_hint.emplace().attributes = {"readOnly"};
  const auto type = objects.type_of(object);
  if (!type) {
    return variable;
  }
  variable.type = (*type)->name;
  const auto elements = count_elements(objects, object, (*type)->kind);
  if (elements > 0 || has_attributes(objects, object, **type)) {
    variable.variables_reference =
        expandable_.add({Expandable::Kind::Object, {}, {}, object});
    variable.indexed_variables = elements;
  }
  return variable;
}

}  // namespace hangdbg
