#include "inspector/jobs/torch/process_groups.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "inspector/cpython/objects/attributes.h"
#include "inspector/cpython/objects/dict.h"
#include "inspector/cpython/objects/items.h"
#include "inspector/cpython/objects/numbers.h"
#include "inspector/cpython/runtime/interpreters.h"
#include "inspector/jobs/torch/cpp_object.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostGroups = 10'000;
constexpr std::size_t kMostRanksOfGroup = 1'000'000;
constexpr std::size_t kMostBackends = 8;  // of one group
// Of a ProcessGroup, which is 300 bytes or so, and of a backend: NCCL's has
// some thousand.
constexpr std::size_t kWordsOfGroup = 64;
constexpr std::size_t kWordsOfBackend = 1024;
constexpr std::size_t kProcessGroupsLongestName = 100;

constexpr const char* kModule = "torch.distributed.distributed_c10d";
constexpr std::string_view kGroupClass = "N4c10d12ProcessGroupE";
constexpr std::string_view kBackendClass = "N4c10d7BackendE";
constexpr std::string_view kWrapperClass = "N4c10d19ProcessGroupWrapperE";
constexpr std::string_view kStatusClass = "N4c10d18ProcessGroupStatusE";

// torch/csrc/distributed/c10d/logger.hpp
struct StatusWords {
  struct Text {
    Address characters;
    std::uint64_t size;
    std::array<std::byte, 16> inside;
  };
  std::int64_t enqueued;
  std::int64_t started;
  std::int64_t completed;
  Text enqueued_name;
  Text started_name;
  Text completed_name;
};

// Of a dict whose keys are groups.
using ByGroup = std::map<Address, Address>;

struct Reader {
  const ObjectReader& objects;
  const Target& target;
  CppObjects cpp_objects{target.memory, target.modules};
  Address module = {};
  const Type* module_type = nullptr;

  Result<std::optional<Address>> global(std::string_view name) const;
  Result<Address> table(std::string_view name) const;
  Result<ByGroup> by_group(std::string_view name) const;
  Result<Address> default_group() const;
  Result<ProcessGroup> group(const DictEntry& entry,
                             const ByGroup& names,
                             const ByGroup& ranks) const;
  Result<std::vector<int>> ranks_of(Address by_rank) const;
  std::vector<GroupBackend> backends_of(Address group) const;
  std::vector<Address> backends_in(Address group) const;
  Address unwrapped(Address backend) const;
  GroupBackend backend(Address object) const;
  std::optional<std::uint64_t> count_of(Address backend,
                                        std::string_view method) const;
  void read_status(Address backend, GroupBackend& into) const;
  std::optional<NumberedCollective> collective(
      std::int64_t number,
      const StatusWords::Text& name) const;
  std::string class_name(Address object) const;
  bool is(Address object, std::string_view wanted) const;
};

}  // namespace

Result<ProcessGroups> read_process_groups(const ObjectReader& objects,
                                          const Target& target) {
  objects.allow_reads(3'000'000);
  const auto interpreters =
      TRY(read_interpreters(objects.memory(), target.python));
  const Address modules = TRY(objects.pointer(
      interpreters.back().state + objects.at().interpreter_modules));
  const auto module = TRY(find_key(objects, modules, kModule));
  ProcessGroups found;
  if (!module) {
    return found;
  }
  found.imported = true;
  Reader reader{.objects = objects, .target = target};
  reader.module = *module;
  reader.module_type = TRY(objects.type_of(*module));
  const ByGroup names = TRY(reader.by_group("_pg_names"));
  const ByGroup ranks = TRY(reader.by_group("_pg_group_ranks"));
  const auto by_default = reader.default_group();
  TRY(each_entry(objects, TRY(reader.table("_pg_map")),
                 [&](const DictEntry& entry) {
                   auto group = reader.group(entry, names, ranks);
                   if (!group) {
                     found.complete = false;
                     return true;
                   }
                   group->is_default = by_default && *by_default == entry.key;
                   found.groups.push_back(*std::move(group));
                   return found.groups.size() < kMostGroups;
                 }));
  return found;
}

const ProcessGroup* ProcessGroups::find(Address object) const {
  const auto found = std::ranges::find(groups, object, &ProcessGroup::object);
  return found == groups.end() ? nullptr : &*found;
}

const ProcessGroup* ProcessGroups::find_default() const {
  const auto found = std::ranges::find(groups, true, &ProcessGroup::is_default);
  return found == groups.end() ? nullptr : &*found;
}

namespace {

Result<std::optional<Address>> Reader::global(std::string_view name) const {
  return find_in_instance(objects, module, *module_type, name);
}

Result<Address> Reader::table(std::string_view name) const {
  const auto found = TRY(global(name));
  return found ? Result<Address>(*found)
               : nothing_at("table of process groups", module);
}

Result<ByGroup> Reader::by_group(std::string_view name) const {
  ByGroup found;
  TRY(each_entry(objects, TRY(table(name)), [&](const DictEntry& entry) {
    found.emplace(entry.key, entry.value);
    return found.size() < kMostGroups;
  }));
  return found;
}

// _world._default_pg; up to 1.13 GroupMember.WORLD.
Result<Address> Reader::default_group() const {
  if (const auto world = TRY(global("_world"))) {
    const auto group = TRY(find_in_instance(
        objects, *world, *TRY(objects.type_of(*world)), "_default_pg"));
    return group ? Result<Address>(*group)
                 : nothing_at("default process group", *world);
  }
  const auto members = TRY(global("GroupMember"));
  if (!members) {
    return nothing_at("default process group", module);
  }
  const auto group =
      TRY(find_in_class(objects, *TRY(objects.type_at(*members)), "WORLD"));
  return group ? Result<Address>(*group)
               : nothing_at("default process group", *members);
}

// `entry`: a group, and (its backend, its store).
Result<ProcessGroup> Reader::group(const DictEntry& entry,
                                   const ByGroup& names,
                                   const ByGroup& ranks) const {
  ProcessGroup group{.object = entry.key};
  const Items kinds = TRY(read_tuple(objects, entry.value, 2));
  if (!kinds.items.empty()) {
    group.backend = TRY(objects.name(kinds.items[0]));
  }
  if (const auto name = names.find(entry.key); name != names.end()) {
    group.name = TRY(objects.name(name->second));
  }
  if (const auto own = ranks.find(entry.key); own != ranks.end()) {
    group.ranks = TRY(ranks_of(own->second));
  }
  group.backends = backends_of(entry.key);
  return group;
}

// A dict of each rank in the job to that in the group.
Result<std::vector<int>> Reader::ranks_of(Address by_rank) const {
  std::vector<std::pair<std::int64_t, int>> ranks;
  TRY(each_entry(objects, by_rank, [&](const DictEntry& entry) {
    const auto rank = int_value(objects, entry.key);
    const auto own = int_value(objects, entry.value);
    if (rank && *rank && own && *own && **rank >= 0 &&
        **rank < static_cast<std::int64_t>(kMostRanksOfGroup)) {
      ranks.emplace_back(**own, static_cast<int>(**rank));
    }
    return ranks.size() < kMostRanksOfGroup;
  }));
  std::ranges::sort(ranks);
  std::vector<int> in_order;
  for (const auto& [own, rank] : ranks) {
    in_order.push_back(rank);
  }
  return in_order;
}

std::vector<GroupBackend> Reader::backends_of(Address group) const {
  std::vector<GroupBackend> backends;
  for (const Address object : backends_in(group)) {
    backends.push_back(backend(object));
  }
  return backends;
}

// A pybind11 object's first word behind its header is that of the C++ object.
// Up to 1.13 this is the backend; since then it is a ProcessGroup, which has a
// hash table of a kind of device to its backend: from one of its words a list
// of {next, kind, backend} begins.
std::vector<Address> Reader::backends_in(Address group) const {
  const auto object = objects.pointer(group + objects.at().object_size);
  if (!object) {
    return {};
  }
  const auto* const kind = cpp_objects.class_of(*object);
  if (kind == nullptr || !kind->is_a(kGroupClass)) {
    return {};
  }
  std::vector<Address> found;
  if (kind->name != kGroupClass) {
    found.push_back(*object);
  }
  for (const Address word : found.empty()
                                ? cpp_objects.words_of(*object, kWordsOfGroup)
                                : std::vector<Address>()) {
    for (Address node = word; node && found.size() < kMostBackends;) {
      const auto backend = objects.memory().read_address(node + 16);
      if (!backend || !is(*backend, kBackendClass)) {
        break;
      }
      if (std::ranges::find(found, *backend) == found.end()) {
        found.push_back(*backend);
      }
      node = objects.memory().read_address(node).value_or(Address());
    }
    if (!found.empty()) {
      break;
    }
  }
  std::ranges::transform(found, found.begin(),
                         [this](Address it) { return unwrapped(it); });
  return found;
}

// With TORCH_DISTRIBUTED_DEBUG=DETAIL another is around it.
Address Reader::unwrapped(Address backend) const {
  if (class_name(backend) != kWrapperClass) {
    return backend;
  }
  const auto words = cpp_objects.words_of(backend, kWordsOfGroup);
  const auto inner = std::ranges::find_if(words, [&](Address word) {
    return is(word, kBackendClass) || is(word, kGroupClass);
  });
  return inner == words.end() ? backend : *inner;
}

GroupBackend Reader::backend(Address object) const {
  GroupBackend backend{.type = last_part(class_name(object)),
                       .begun = count_of(object, "25getSequenceNumberForGroup"),
                       .collectives = count_of(object, "7nextTag")};
  read_status(object, backend);
  return backend;
}

// Which of its words a function returns is told by its code.
std::optional<std::uint64_t> Reader::count_of(Address backend,
                                              std::string_view method) const {
  std::string symbol = "_Z" + class_name(backend);
  if (!symbol.ends_with('E')) {
    return std::nullopt;
  }
  symbol.pop_back();
  const auto function =
      cpp_objects.function_of(backend, symbol.append(method).append("Ev"));
  std::array<std::byte, 64> code{};
  if (!function || !target.memory.read(*function, code)) {
    return std::nullopt;
  }
  const auto getter = parse_getter(code);
  const auto at = [&](std::ptrdiff_t offset) {
    return backend + static_cast<std::uint64_t>(offset);
  };
  if (!getter || !std::ranges::all_of(getter->flags, [&](auto flag) {
        return target.memory.read_value<std::uint8_t>(at(flag)).value_or(0) !=
               0;
      })) {
    return std::nullopt;
  }
  std::uint64_t number = 0;
  return target.memory.read(
             at(getter->offset),
             std::as_writable_bytes(std::span(&number, 1)).first(getter->size))
             ? std::optional(number)
             : std::nullopt;
}

// A shared pointer to it: two words, to it and to what counts its owners, which
// std::make_shared puts before it, and which has a class.
void Reader::read_status(Address backend, GroupBackend& into) const {
  const auto words = cpp_objects.words_of(backend, kWordsOfBackend);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const Address status = words[i];
    const Address counts = words[i + 1];
    if (!counts || status != counts + 16) {
      continue;
    }
    const auto* const kind = cpp_objects.class_of(counts);
    if (kind == nullptr || kind->name.find(kStatusClass) == std::string::npos) {
      continue;
    }
    const auto read = target.memory.read_value<StatusWords>(status);
    if (read) {
      into.has_status = true;
      into.enqueued = collective(read->enqueued, read->enqueued_name);
      into.started = collective(read->started, read->started_name);
      into.completed = collective(read->completed, read->completed_name);
    }
    return;
  }
}

// It runs meanwhile: a name that is none now is left out.
std::optional<NumberedCollective> Reader::collective(
    std::int64_t number,
    const StatusWords::Text& name) const {
  if (number < 0) {
    return std::nullopt;
  }
  NumberedCollective found{.number = number, .name = {}};
  if (name.size > 0 && name.size <= kProcessGroupsLongestName) {
    std::string text(name.size, '\0');
    if (target.memory.read(name.characters,
                           std::as_writable_bytes(std::span(text)))) {
      found.name = std::move(text);
    }
  }
  return found;
}

// "" of what is none any more: the program runs meanwhile.
std::string Reader::class_name(Address object) const {
  const auto* const kind = cpp_objects.class_of(object);
  return kind == nullptr ? "" : kind->name;
}

bool Reader::is(Address object, std::string_view wanted) const {
  const auto* const kind = object ? cpp_objects.class_of(object) : nullptr;
  return kind != nullptr && kind->is_a(wanted);
}

}  // namespace
}  // namespace hangdbg
