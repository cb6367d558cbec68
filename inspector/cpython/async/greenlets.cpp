#include "inspector/cpython/async/greenlets.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "base/deadline.h"
#include "inspector/cpython/async/greenlet_memory.h"
#include "inspector/cpython/objects/attributes.h"
#include "inspector/cpython/objects/dict.h"
#include "inspector/cpython/objects/tracked.h"
#include "inspector/cpython/runtime/interpreters.h"

namespace hangdbg {
namespace {

constexpr std::uint64_t kGreenletsMostReads = 20'000'000;
constexpr std::size_t kMostObjects = 50'000'000;
constexpr std::size_t kMostGreenlets = 100'000;
constexpr std::size_t kGreenletsMostFrames = 1000;
constexpr int kGreenletsMostBases = 100;
constexpr auto kMostSearch = std::chrono::seconds(3);
constexpr auto kMostStops = std::chrono::seconds(2);  // of threads
constexpr int kGreenletsTries = 10;
constexpr std::size_t kAtOnce = 64;  // of a thread that sleeps

struct Found {
  Address type;
  const Type* greenlet;  // greenlet.greenlet, that it is one of
};

// What is read of one at one moment.
struct SeenGreenlets {
  GreenletWords words;
  FrameChain frames;
  bool exact = false;
};

struct GreenletReader {
  const Target& target;
  const ObjectReader& objects;
  PythonStackReader& stacks;
  const std::vector<PythonThread>& threads;
  bool may_stop;
  Deadline search = Deadline::in(kMostSearch);
  Deadline stops = Deadline::in(kMostSearch + kMostStops);
  std::map<Address, Found> found = {};
  std::map<Address, SeenGreenlets> seen = {};
  Greenlets all = {};

  void find(Address interpreter);
  Result<const Type*> greenlet_class(Address interpreter) const;
  bool is_greenlet(Address type, const Type& greenlet) const;

  const PythonThread* thread_of(const GreenletWords& words) const;
  std::optional<SeenGreenlets> first_look(Address object) const;
  void see(const PythonThread* thread, std::span<const Address> addresses);
  bool see_at_once(const PythonThread& thread,
                   std::span<const Address> addresses,
                   bool stops);
  Result<SeenGreenlets> see(Address object) const;

  Greenlet read(Address object, const SeenGreenlets& look);
  std::string name_of(Address object, const GreenletWords& words) const;
  std::string function_name(Address callable) const;
  std::optional<std::size_t> first_greenlet(Address object,
                                            const GreenletWords& words) const;
  Address parent_of(Address object, const GreenletWords& words) const;
};

}  // namespace

Greenlets read_greenlets(const Target& target,
                         const ObjectReader& objects,
                         PythonStackReader& stacks,
                         const std::vector<PythonThread>& threads,
                         bool may_stop) {
  objects.allow_reads(kGreenletsMostReads);
  GreenletReader reader{target, objects, stacks, threads, may_stop};
  const auto interpreters = read_interpreters(objects.memory(), target.python);
  if (!interpreters) {
    reader.all.missing = interpreters.error().message;
  } else {
    std::ranges::for_each(
        *interpreters, [&](const Interpreter& one) { reader.find(one.state); });
  }
  std::map<const PythonThread*, std::vector<Address>> by_thread;
  for (const auto& [object, type] : reader.found) {
    if (auto look = reader.first_look(object)) {
      by_thread[reader.thread_of(look->words)].push_back(object);
      reader.seen.emplace(object, *std::move(look));
    }
  }
  for (const auto& [thread, addresses] : by_thread) {
    reader.see(thread, addresses);
  }
  for (const auto& [object, look] : reader.seen) {
    reader.all.greenlets.push_back(reader.read(object, look));
  }
  std::ranges::sort(reader.all.greenlets, {}, [](const Greenlet& one) {
    return std::tuple(one.tid, !one.main, one.name.size(), one.name,
                      one.address);
  });
  return std::move(reader.all);
}

namespace {

// ---- where they are

void GreenletReader::find(Address interpreter) {
  const auto greenlet = greenlet_class(interpreter);
  if (!greenlet) {
    return;
  }
  std::map<Address, bool> known;
  const Status walked =
      each_tracked(target.memory, objects, target.python, interpreter,
                   {kMostObjects, search}, [&](Address object, Address type) {
                     const auto [it, fresh] = known.try_emplace(type, false);
                     if (fresh) {
                       it->second = is_greenlet(type, **greenlet);
                     }
                     if (it->second && found.size() < kMostGreenlets) {
                       found.emplace(object, Found{type, *greenlet});
                     }
                   });
  if (!walked) {
    all.missing = walked.error().message;
  } else if (found.size() >= kMostGreenlets) {
    all.missing = "there are too many";
  }
}

// Errors: Unreadable, also where it has not been imported.
Result<const Type*> GreenletReader::greenlet_class(Address interpreter) const {
  const Address modules =
      TRY(objects.pointer(interpreter + objects.at().interpreter_modules));
  const auto module = TRY(find_key(objects, modules, "greenlet"));
  const auto type =
      module ? TRY(find_in_instance(objects, *module,
                                    *TRY(objects.type_of(*module)), "greenlet"))
             : std::nullopt;
  if (!type || TRY(objects.type_at(*type))->path != "greenlet.greenlet") {
    return nothing_at("greenlet module", modules);
  }
  return objects.type_at(*type);
}

bool GreenletReader::is_greenlet(Address type, const Type& greenlet) const {
  for (int i = 0; type && i < kGreenletsMostBases; ++i) {
    if (type == greenlet.address) {
      return true;
    }
    const auto base = objects.type_at(type);
    type = base ? (*base)->base : Address{};
  }
  return false;
}

// ---- where each left off

// Its piece of the C stack is in that of the thread, and so is the thread's
// struct pthread, which its number points to; but for the main thread's.
const PythonThread* GreenletReader::thread_of(
    const GreenletWords& words) const {
  const Address place = words.main() ? words.start : words.stop - 1;
  const auto after =
      std::ranges::upper_bound(target.maps, place, {}, &Mapping::start);
  if (after == target.maps.begin() || !std::prev(after)->contains(place)) {
    return nullptr;
  }
  const Mapping& stack = *std::prev(after);
  const auto thread =
      std::ranges::find_if(threads, [&](const PythonThread& one) {
        return stack.contains(Address{one.ident});
      });
  if (thread != threads.end()) {
    return &*thread;
  }
  // Mappings of a core file have no such names.
  const auto main = std::ranges::find(threads, target.pid, &PythonThread::tid);
  return main != threads.end() &&
                 (stack.path == "[stack]" || !target.live_pid())
             ? &*main
             : nullptr;
}

// Of one that leaves off just now, the words may be from two moments, and not
// go together. One that is gone by now was no miss.
std::optional<SeenGreenlets> GreenletReader::first_look(Address object) const {
  for (int tried = 0; tried < kGreenletsTries; ++tried) {
    if (auto look = see(object)) {
      return *std::move(look);
    }
  }
  return std::nullopt;
}

// Many at once while their thread sleeps; else it is stopped for each.
void GreenletReader::see(const PythonThread* thread,
                         std::span<const Address> addresses) {
  while (thread != nullptr && !addresses.empty()) {
    const auto some = addresses.first(std::min(addresses.size(), kAtOnce));
    addresses = addresses.subspan(some.size());
    if (see_at_once(*thread, some, false)) {
      continue;
    }
    for (std::size_t i = 0; i < some.size(); ++i) {
      if (may_stop && !stops.expired()) {
        (void)see_at_once(*thread, some.subspan(i, 1), true);
      }
    }
  }
}

// True if all of them were seen at a moment at which the thread did not run.
bool GreenletReader::see_at_once(const PythonThread& thread,
                                 std::span<const Address> addresses,
                                 bool stops) {
  std::map<Address, SeenGreenlets> fresh;
  SampleOptions how{.most = 0, .may_stop = stops};
  how.copy = [&](const Registers&) -> Status {
    fresh.clear();
    for (const Address object : addresses) {
      if (auto look = see(object)) {
        fresh.emplace(object, *std::move(look));
      }
    }
    return {};
  };
  const auto look = target.look(stacks, thread, how);
  if (!look || !look->stack.exact) {
    return false;
  }
  all.longest_stop = std::max(all.longest_stop, look->stopped);
  for (const Address object : addresses) {
    seen.erase(object);  // it may be gone by now
  }
  for (auto& [object, one] : fresh) {
    one.exact = true;
    seen.emplace(object, std::move(one));
  }
  return true;
}

// What was seen before is nearly always the same still, and fetched at once.
Result<SeenGreenlets> GreenletReader::see(Address object) const {
  const Found& one = found.at(object);
  const auto type =
      target.memory.read_address(object + target.python.layout.object_type);
  if (TRY(type) != one.type) {
    return nothing_at("greenlet", object);
  }
  SeenGreenlets look{.words = TRY(read_greenlet_words(target.memory, objects,
                                                      *one.greenlet, object))};
  if (look.words.suspended()) {
    const auto before = seen.find(object);
    auto frames = read_greenlet_frames(
        target.memory, objects, look.words, kGreenletsMostFrames,
        before != seen.end() ? &before->second.frames : nullptr);
    look.frames = frames ? *std::move(frames) : FrameChain{.complete = false};
  }
  return look;
}

// ---- what one is

Greenlet GreenletReader::read(Address object, const SeenGreenlets& look) {
  const GreenletWords& words = look.words;
  Greenlet one{.address = object, .main = words.main()};
  const auto type = objects.type_of(object);
  one.type = type ? (*type)->name : "";
  one.state = words.suspended() ? "suspended"
              : words.active()  ? "runs"
              : words.begun()   ? "dead"
                                : "not begun";
  if (words.active()) {
    const PythonThread* const thread = thread_of(words);
    one.tid = thread != nullptr ? thread->tid : std::nullopt;
  }
  one.parent = parent_of(object, words);
  auto stack = stacks.name(look.frames);
  one.stack = stack ? *std::move(stack) : PythonStack{.complete = false};
  one.stack.exact = look.exact || !words.suspended();
  one.name = name_of(object, words);
  if (one.name.empty() && !one.stack.frames.empty() && one.stack.complete) {
    one.name = one.stack.frames.back().qualname;
  }
  return one;
}

// Gevent's have one of their own, or at least keep what they run.
std::string GreenletReader::name_of(Address object,
                                    const GreenletWords& words) const {
  const auto type = objects.type_of(object);
  const auto attribute = [&](const char* name) {
    const auto value =
        type ? find_in_instance(objects, object, **type, name) : std::nullopt;
    return value && *value ? **value : Address{};
  };
  if (const Address name = attribute("name")) {
    const auto is = objects.type_of(name);
    const auto text = is && (*is)->kind == Kind::Str ? objects.name(name)
                                                     : Result<std::string>("");
    return text ? *text : "";
  }
  if (const Address run = attribute("_run")) {
    return function_name(run);
  }
  const auto parent = first_greenlet(object, words);
  return !words.begun() && parent && *parent > 0
             ? function_name(words.rest[*parent - 1])
             : "";
}

std::string GreenletReader::function_name(Address callable) const {
  auto type = objects.type_of(callable);
  if (type && (*type)->kind == Kind::Method) {
    callable = objects.pointer(callable + objects.at().method_function)
                   .value_or(Address{});
    type = objects.type_of(callable);
  }
  if (!type || (*type)->kind != Kind::Function) {
    return "";
  }
  const auto name = objects.pointer(callable + objects.at().function_qualname);
  const auto text = name ? objects.name(*name) : Result<std::string>("");
  return text ? *text : "";
}

// In 2.0 and 3.0 it has a pointer to itself before them.
std::optional<std::size_t> GreenletReader::first_greenlet(
    Address object,
    const GreenletWords& words) const {
  const auto first = std::ranges::find_if(words.rest, [&](Address word) {
    return word != object && found.contains(word);
  });
  return first == words.rest.end() ? std::nullopt
                                   : std::optional(static_cast<std::size_t>(
                                         first - words.rest.begin()));
}

// From 2.0 on one that has begun knows its thread's main greenlet too: that,
// what is run, the parent.
Address GreenletReader::parent_of(Address object,
                                  const GreenletWords& words) const {
  const auto first = first_greenlet(object, words);
  if (!first || words.main()) {
    return {};
  }
  const std::size_t third = *first + 2;
  if (!words.begun() || third >= words.rest.size()) {
    return words.rest[*first];
  }
  return found.contains(words.rest[third]) ? words.rest[third] : Address{};
}

}  // namespace
}  // namespace hangdbg
