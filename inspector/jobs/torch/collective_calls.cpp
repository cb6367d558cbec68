#include "inspector/jobs/torch/collective_calls.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "base/text.h"
#include "inspector/cpython/objects/items.h"
#include "inspector/cpython/objects/numbers.h"
#include "inspector/cpython/stacks/python_locals.h"

namespace hangdbg {
namespace {

constexpr std::string_view kCollectiveCallsFile =
    "/torch/distributed/distributed_c10d.py";
constexpr std::string_view kCollectiveCallsTorch =
    "/torch/";  // the folder that it is in

// torch/csrc/distributed/c10d/Types.hpp: ReduceOp::RedOpType.
constexpr std::array<std::string_view, 9> kOperations = {
    "sum", "avg", "product", "min", "max", "and", "or", "xor", "premul_sum"};

// The names that its functions have for what they are given.
constexpr std::array<std::string_view, 2> kGroups = {"group", "pg"};
constexpr std::array<std::string_view, 4> kPeers = {"dst", "src", "group_dst",
                                                    "group_src"};

std::optional<ArrayShape> tensor_of(const ObjectReader& objects,
                                    Address object) {
  const auto type = objects.type_of(object);
  if (!type) {
    return std::nullopt;
  }
  if ((*type)->kind == Kind::Tensor) {
    const auto shape = read_tensor(objects, object);
    return shape ? std::optional(*shape) : std::nullopt;
  }
  if ((*type)->kind != Kind::List && (*type)->kind != Kind::Tuple) {
    return std::nullopt;
  }
  const auto items = read_items(objects, object, (*type)->kind, 0, 1);
  const auto first = items && !items->items.empty()
                         ? objects.type_of(items->items[0])
                         : nothing_at("tensor", object);
  if (!first || (*first)->kind != Kind::Tensor) {
    return std::nullopt;
  }
  const auto shape = read_tensor(objects, items->items[0]);
  return shape ? std::optional(*shape) : std::nullopt;
}

// Of pybind11's enum: its value is behind its first word.
std::string operation_of(const ObjectReader& objects, Address object) {
  const auto type = objects.type_of(object);
  if (!type || (*type)->name != "RedOpType") {
    return {};
  }
  const auto place = objects.pointer(object + objects.at().object_size);
  const auto value = place ? objects.memory().read_value<std::uint8_t>(*place)
                           : nothing_at("operation", object);
  return value && *value < kOperations.size() ? std::string(kOperations[*value])
                                              : "";
}

void read_variable(const ObjectReader& objects,
                   const Variable& variable,
                   const ProcessGroups& groups,
                   CollectiveCall& call) {
  const auto named = [&variable](const auto& names) {
    return std::ranges::find(names, variable.name) != names.end();
  };
  if (named(kGroups)) {
    if (const ProcessGroup* const group = groups.find(variable.object)) {
      call.group = group->name;
    } else if (const auto* const all = groups.find_default();
               all != nullptr && call.group.empty()) {
      call.group = all->name;  // it is None yet
    }
  } else if (named(kPeers) && !call.peer) {
    call.peer = int_value(objects, variable.object)
                    .value_or(std::optional<std::int64_t>());
  } else if (variable.name == "op") {
    call.operation = operation_of(objects, variable.object);
  } else if (!call.tensor) {
    call.tensor = tensor_of(objects, variable.object);
  }
}

}  // namespace

std::optional<CollectiveCall> read_collective_call(
    const ObjectReader& objects,
    const PythonStack& stack,
    const ProcessGroups& groups) {
  const auto& frames = stack.frames;
  const auto is_ours = [](const PythonFrame& frame) {
    return frame.file.ends_with(kCollectiveCallsFile);
  };
  const auto inner = std::ranges::find_if(frames, is_ours);
  if (inner == frames.end()) {
    return std::nullopt;
  }
  // The first frame outside of torch has called what counts.
  const std::string torch =
      inner->file.substr(0, inner->file.size() - kCollectiveCallsFile.size())
          .append(kCollectiveCallsTorch);
  const auto caller = std::find_if_not(
      inner, frames.end(),
      [&](const PythonFrame& frame) { return frame.file.starts_with(torch); });
  auto outer = caller;
  do {
    --outer;
  } while (!is_ours(*outer));
  CollectiveCall call{.function = outer->function};
  if (inner != outer && inner->function != outer->function) {
    call.inner = inner->function;
  }
  if (caller != frames.end()) {
    call.caller = static_cast<std::size_t>(caller - frames.begin());
  }
  objects.allow_reads();
  for (auto frame = inner;; frame = outer) {
    const auto variables = read_locals(objects, frame->address, frame->code);
    for (const Variable& variable :
         variables ? *variables : std::vector<Variable>()) {
      read_variable(objects, variable, groups, call);
    }
    if (frame == outer) {
      return call;
    }
  }
}

std::string call_words(const CollectiveCall& call) {
  std::string words = printable(call.function);
  if (!call.group.empty()) {
    words += " of group " + printable(call.group);
  }
  std::string details;
  const auto add = [&details](const std::string& text) {
    details += (details.empty() ? "" : ", ") + text;
  };
  if (!call.operation.empty()) {
    add(call.operation);
  }
  if (call.tensor) {
    add(fmt::format("{} {}", printable(call.tensor->dtype),
                    call.tensor->text()));
  }
  if (call.peer) {
    add(fmt::format("{} {}",
                    call.function.find("recv") == std::string::npos &&
                            call.function.find("send") == std::string::npos
                        ? "root"
                        : "other rank",
                    *call.peer));
  }
  if (!call.inner.empty()) {
    add("now in " + printable(call.inner));
  }
  return details.empty() ? words : fmt::format("{} ({})", words, details);
}

}  // namespace hangdbg
