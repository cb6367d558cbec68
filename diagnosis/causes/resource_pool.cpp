// A pool of connections all of which are in use: by threads whose frames hold
// them, often by the waiter itself.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "diagnosis/causes/causes.h"
#include "inspector/cpython/locks/stdlib_blocking_frames.h"
#include "inspector/cpython/objects/attributes.h"
#include "inspector/cpython/objects/items.h"
#include "inspector/cpython/stacks/python_locals.h"

namespace hangdbg::causes {
namespace {

enum class Family { SqlAlchemy, Urllib3, Psycopg, Other };

// The function in which a pool waits until one is given back, and by which
// names its object has how many there are.
struct PoolWait {
  std::string_view function, file, name;
  const char* size;
  const char* overflow;  // may be made beyond that; null: none
  Family family;
};

constexpr std::array kPoolWaits = {
    PoolWait{"_do_get", "/sqlalchemy/pool/impl.py", "SQLAlchemy's pool",
             "self._pool.maxsize", "self._max_overflow", Family::SqlAlchemy},
    PoolWait{"_get_conn", "/urllib3/connectionpool.py", "urllib3's pool",
             "self.pool.maxsize", nullptr, Family::Urllib3},
    PoolWait{"getconn", "/psycopg_pool/pool.py", "psycopg's pool",
             "self._max_size", nullptr, Family::Psycopg},
    PoolWait{"handle_request", "/httpcore/_sync/connection_pool.py",
             "httpcore's pool", "self._max_connections", nullptr,
             Family::Other},
    PoolWait{"get_connection", "/redis/connection.py", "redis-py's pool",
             "self.max_connections", nullptr, Family::Other},
};

struct AwaitedPool {
  const PoolWait* kind = nullptr;
  const PythonFrame* frame = nullptr;
  Address object;
};

// The pools' own code, wherever it is installed, and what they wait by.
bool waits_for_pool(std::string_view file) {
  constexpr std::array<std::string_view, 5> kPackages = {
      "/sqlalchemy/", "/urllib3/", "/psycopg_pool/", "/httpcore/", "/redis/"};
  return is_stdlib_blocking_file(file) ||
         std::ranges::any_of(kPackages, [file](std::string_view one) {
           return file.find(one) != file.npos;
         });
}

// All that the thread has called from there waits: the library's own code, and
// the standard library's.
std::optional<AwaitedPool> awaited_pool(const ProcessSnapshot& of,
                                        const ThreadSnapshot& thread) {
  if (!of.is_python() || !thread.sleeps_in("futex") ||
      thread.find("wait", "/threading.py", 1) == nullptr) {
    return {};
  }
  constexpr std::size_t kDepth = 8;
  for (std::size_t i = 0; i < std::min(kDepth, thread.frames().size()); ++i) {
    const PythonFrame& frame = thread.frames()[i];
    for (const PoolWait& one : kPoolWaits) {
      const auto self =
          frame.function == one.function && frame.file.ends_with(one.file)
              ? of.object(frame, "self")
              : std::nullopt;
      if (self) {
        return AwaitedPool{&one, &frame, *self};
      }
    }
    if (!waits_for_pool(frame.file)) {
      break;  // what the pool has called does something else
    }
  }
  return {};
}

std::optional<Address> attribute(const ObjectReader& objects,
                                 std::optional<Address> object,
                                 std::string_view name) {
  const auto type =
      object && *object ? objects.type_of(*object) : std::unexpected(Error());
  const auto found = type ? find_in_instance(objects, *object, **type, name)
                          : Result<std::optional<Address>>(std::nullopt);
  if (!found || !*found) {
    return {};
  }
  const auto its = objects.type_of(**found);
  return its && (*its)->kind != Kind::None ? *found : std::nullopt;
}

// Such an object keeps one of the pool's connections.
bool is_lent(const ObjectReader& objects,
             Address object,
             const AwaitedPool& of) {
  const auto type = objects.type_of(object);
  if (!type) {
    return false;
  }
  switch (of.kind->family) {
    case Family::SqlAlchemy:
      return (*type)->name == "Connection" &&
             attribute(objects, object, "_dbapi_connection") &&
             attribute(objects, attribute(objects, object, "engine"), "pool") ==
                 of.object;
    case Family::Urllib3:
      return (*type)->name == "HTTPResponse" &&
             attribute(objects, object, "_connection") &&
             attribute(objects, object, "_pool") == of.object;
    case Family::Psycopg:
      return attribute(objects, object, "_pool") == of.object;
    case Family::Other:
      return false;
  }
  return false;
}

// What a variable holds: itself, its items, and what a session or a response
// keeps its connection by.
std::vector<Address> kept_by(const ObjectReader& objects, Address object) {
  constexpr std::size_t kMostItems = 100;
  std::vector<Address> kept = {object};
  const auto type = objects.type_of(object);
  if (!type) {
    return kept;
  }
  if (has_items((*type)->kind)) {
    if (auto items =
            read_items(objects, object, (*type)->kind, 0, kMostItems)) {
      std::ranges::copy(items->items, std::back_inserter(kept));
    }
  }
  const auto connections = attribute(
      objects, attribute(objects, object, "_transaction"), "_connections");
  const auto add_entries = [&](Address dict) {
    (void)each_entry(objects, dict, [&](const DictEntry& one) {
      kept.push_back(one.key);
      kept.push_back(one.value);
      return kept.size() < kMostItems;
    });
  };
  if (connections) {
    add_entries(*connections);
  } else if (is_dict((*type)->kind)) {
    add_entries(object);
  }
  if (const auto raw = attribute(objects, object, "raw")) {
    kept.push_back(*raw);
  }
  return kept;
}

struct Lent {
  const ThreadSnapshot* thread = nullptr;
  const PythonFrame* frame = nullptr;  // the outermost that holds one
  std::size_t count = 0;
};

// The threads that hold one, each connection once.
std::vector<Lent> lent(const ProcessSnapshot& of, const AwaitedPool& pool) {
  const ObjectReader& objects = of.objects();
  std::vector<Lent> found;
  std::set<Address> seen;
  for (const ThreadSnapshot* const one : of.python_threads()) {
    Lent its{.thread = one};
    for (const PythonFrame& frame : one->frames()) {
      if (pool.kind->family == Family::Other) {
        continue;
      }
      objects.allow_reads();
      // A request in progress holds one that no response has yet.
      const bool works = pool.kind->family == Family::Urllib3 &&
                         frame.function == "urlopen" &&
                         frame.file.ends_with(pool.kind->file) &&
                         of.object(frame, "self") == pool.object;
      const auto conn =
          works ? of.object(frame, "conn") : std::optional<Address>();
      const auto type =
          conn ? objects.type_of(*conn) : std::unexpected(Error());
      if (type && (*type)->kind != Kind::None && seen.insert(*conn).second) {
        ++its.count;
        its.frame = &frame;
      }
      if (is_library(frame.file)) {
        continue;
      }
      const auto variables = read_locals(objects, frame.address, frame.code);
      for (const Variable& variable :
           variables ? *variables : std::vector<Variable>()) {
        for (const Address object : kept_by(objects, variable.object)) {
          if (object && is_lent(objects, object, pool) &&
              seen.insert(object).second) {
            ++its.count;
            its.frame = &frame;
          }
        }
      }
    }
    if (its.count > 0) {
      found.push_back(its);
    }
  }
  return found;
}

// It waits for the same pool, and returns no connection meanwhile.
bool waits_likewise(const ProcessSnapshot& of,
                    const ThreadSnapshot& thread,
                    const AwaitedPool& pool) {
  const auto its = awaited_pool(of, thread);
  return its && its->object == pool.object && !thread.ran;
}

}  // namespace

Found resource_pool(const ProcessSnapshot& of, const ThreadSnapshot& thread) {
  const auto pool = awaited_pool(of, thread);
  if (!pool) {
    return std::nullopt;
  }
  const auto size = of.number(*pool->frame, pool->kind->size);
  const auto overflow = pool->kind->overflow != nullptr
                            ? of.number(*pool->frame, pool->kind->overflow)
                            : std::optional<std::int64_t>(0);
  Cause cause{
      .id = CauseId::PoolExhausted,
      .progress = Progress::Blocked,
      .confidence = Confidence::Likely,
      .summary = fmt::format("waits for a connection of {}", pool->kind->name)};
  if (size && overflow) {
    cause.summary +=
        *overflow > 0 ? fmt::format(": {} of {} and {} of overflow are in use",
                                    *size, *size, *overflow)
                      : fmt::format(": {} of {} {} in use", *size, *size,
                                    *size == 1 ? "is" : "are");
  }
  cause.evidence.push_back(thread.place());
  const auto holders = lent(of, *pool);
  std::size_t known = 0;
  bool all_wait = true;
  for (const Lent& one : holders) {
    known += one.count;
    all_wait &= waits_likewise(of, *one.thread, *pool);
    const bool own = one.thread->id == thread.id;
    if (own) {
      cause.summary += fmt::format(", {} by this thread itself", one.count);
    } else {
      cause.blocked_by.push_back(one.thread->id);
      cause.any_unblocks = true;
    }
    cause.evidence.push_back(fmt::format("{} has {} of them, at {}",
                                         one.thread->who(), one.count,
                                         place_of(*one.frame)));
  }
  const auto left = of.wakes_in_s(thread);
  constexpr double kSoon = 3600;  // seconds
  if (left) {
    cause.evidence.push_back(fmt::format("it gives up in {:.0f} s", *left));
    if (*left < kSoon) {
      cause.confidence = Confidence::Possible;
    }
  } else if (size && overflow && !holders.empty() && all_wait &&
             known >= static_cast<std::size_t>(*size + *overflow)) {
    cause.progress = Progress::Stuck;
    cause.evidence.push_back("all who have one wait for another");
  }
  if (of.makes_progress(thread)) {
    cause.progress = Progress::Running;
    cause.evidence.push_back("it has run meanwhile: they take turns");
  }
  cause.next.push_back({fmt::format("hangdbg dump {} --locals", of.pid),
                        "which frames keep a connection open"});
  return cause;
}

}  // namespace hangdbg::causes
