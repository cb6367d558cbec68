// Of an interpreter that is not known: its interpreters, their threads, whose
// threads of the system these are, and the GIL.
#include <algorithm>
#include <array>

#include "inspector/cpython/runtime/proof.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostInterpreters = 64;
constexpr std::size_t kMostThreads = 16'384;
constexpr std::size_t kMostTypeName = 64;

// Where struct pthread keeps the kernel's number: glibc, musl 1.2, musl 1.1.
constexpr std::array<std::uint64_t, 3> kNumberInPthread = {0x2d0, 0x30, 0x38};

// A list from its head on, each of which points back, to the one before as
// well. None: that is no list of thread states.
std::optional<std::vector<Address>> threads_from(Proof& proof,
                                                 Address head,
                                                 Address interpreter) {
  const std::size_t thread = proof.groups.thread;
  std::vector<Address> found;
  Address before;
  for (Address next = head; next; before = found.back()) {
    const auto back = proof.pointer(next + proof.word(thread + 3));
    const auto previous = proof.pointer(next + proof.word(thread + 1));
    const auto after = proof.pointer(next + proof.word(thread + 2));
    if (next.value % 8 != 0 || !back || *back != interpreter || !previous ||
        *previous != before || !after || found.size() == kMostThreads) {
      return {};
    }
    found.push_back(next);
    next = *after;
  }
  return found;
}

// The first word after the group's size that leads from main to a list of its
// threads. A later one leads to the last of it alone.
std::optional<std::size_t> find_list(Proof& proof, Address main) {
  const TableGroups& groups = proof.groups;
  for (std::size_t i = groups.interpreter + 1; i < groups.thread; ++i) {
    const auto head = proof.is_pointer_in(groups.interpreter, i)
                          ? proof.pointer(main + proof.word(i))
                          : std::nullopt;
    const auto threads =
        head && *head ? threads_from(proof, *head, main) : std::nullopt;
    if (threads) {
      return i;
    }
  }
  return {};
}

// From the newest to main, by that word.
std::optional<std::vector<Address>> interpreters_by(Proof& proof,
                                                    std::size_t number,
                                                    Address head,
                                                    Address main) {
  std::vector<Address> found;
  for (Address next = head; next;) {
    if (next.value % 8 != 0 || found.size() == kMostInterpreters) {
      return {};
    }
    found.push_back(next);
    const auto after = proof.pointer(next + proof.word(number));
    if (!after) {
      return {};
    }
    next = *after;
  }
  return !found.empty() && found.back() == main ? std::optional(found)
                                                : std::nullopt;
}

// Their numbers: main's is 0, a newer one's is larger.
bool are_numbers(Proof& proof, std::size_t number) {
  std::int64_t before = 0;
  for (auto it = proof.interpreters.rbegin(); it != proof.interpreters.rend();
       ++it) {
    const auto id = proof.value<std::int64_t>(*it + proof.word(number));
    const bool is_main = it == proof.interpreters.rbegin();
    if (!id || (is_main ? *id != 0 : *id <= before) || *id > 1 << 30) {
      return false;
    }
    before = *id;
  }
  return true;
}

}  // namespace

std::string Proof::type_name(Address object) {
  const auto type = pointer(object + word(groups.object + 1));
  const auto name =
      type && *type ? pointer(*type + word(groups.object + 3)) : std::nullopt;
  if (!name || !*name || --left < 0) {
    return "";
  }
  return memory.read_string(*name, kMostTypeName).value_or("");
}

bool Proof::find_threads() {
  at.thread_next = offset(groups.thread + 2);
  at.thread_interpreter = offset(groups.thread + 3);
  for (std::size_t h = groups.runtime + 2; h < groups.interpreter; ++h) {
    const auto head = is_pointer_in(groups.runtime, h)
                          ? pointer(runtime + word(h))
                          : std::nullopt;
    const auto main =
        head && *head ? pointer(runtime + word(h) + 8) : std::nullopt;
    const auto list = main && *main && main->value % 8 == 0
                          ? find_list(*this, *main)
                          : std::nullopt;
    if (!list) {
      continue;
    }
    // Where there is but one, no word can be told from another that is 0.
    interpreters = {*main};
    std::size_t next = groups.interpreter;
    if (*head != *main) {
      std::optional<std::vector<Address>> all;
      while (!all && ++next < groups.thread) {
        all = is_pointer_in(groups.interpreter, next)
                  ? interpreters_by(*this, next, *head, *main)
                  : std::nullopt;
      }
      if (!all) {
        continue;
      }
      interpreters = *all;
    }
    threads.clear();
    bool all_have_lists = true;
    for (const Address interpreter : interpreters) {
      const auto first = pointer(interpreter + word(*list));
      const auto own =
          first ? threads_from(*this, *first, interpreter) : std::nullopt;
      all_have_lists &= own.has_value();
      if (own) {
        threads.insert(threads.end(), own->begin(), own->end());
      }
    }
    if (!all_have_lists) {
      continue;
    }
    at.runtime_interpreters_head = offset(h);
    at.runtime_interpreters_main = offset(h) + 8;
    at.interpreter_threads_head = offset(*list);
    if (interpreters.size() > 1) {
      at.interpreter_next = offset(next);
    }
    for (std::size_t id = groups.interpreter + 1;
         interpreters.size() > 1 && id < groups.thread; ++id) {
      if (is_pointer_in(groups.interpreter, id) && are_numbers(*this, id)) {
        at.interpreter_id = offset(id);
        break;
      }
    }
    // `initialized` is the last int before `_finalizing` (and its padding).
    for (std::size_t f = groups.runtime + 1; f < h; ++f) {
      const bool fits = is_pointer_in(groups.runtime, f) && word(f) >= 8;
      const auto initialized =
          fits ? value<std::int32_t>(runtime + word(f) - 8) : std::nullopt;
      const auto finalizing = fits ? pointer(runtime + word(f)) : std::nullopt;
      if (initialized && *initialized == 1 && finalizing &&
          (!*finalizing ||
           std::ranges::find(threads, *finalizing) != threads.end())) {
        at.runtime_initialized = offset(f) - 8;
        at.runtime_finalizing = offset(f);
        return true;
      }
    }
  }
  return false;
}

// A pthread_t is the address of a structure whose first word is that address,
// in glibc (tcbhead_t) and in musl (struct pthread); the kernel's number is in
// it. A thread state that no thread has taken has none yet, and one whose
// thread is gone an old one.
bool Proof::find_thread_numbers() {
  const auto holds = [&](const auto& is_so) {
    int good = 0, bad = 0;
    for (const Address thread : threads) {
      const std::optional<bool> is = is_so(thread);
      good += is && *is ? 1 : 0;
      bad += is && !*is ? 1 : 0;
    }
    return good > bad;
  };
  for (std::size_t i = groups.thread + 5; i < groups.frame; ++i) {
    const auto pthread_of = [&](Address thread) {
      const auto pthread = pointer(thread + word(i));
      const auto self = pthread && *pthread ? pointer(*pthread) : std::nullopt;
      return self && *self == *pthread ? *pthread : Address{};
    };
    const auto is_pthread = [&](Address thread) -> std::optional<bool> {
      const auto pthread = pointer(thread + word(i));
      return pthread && !*pthread
                 ? std::nullopt
                 : std::optional(static_cast<bool>(pthread_of(thread)));
    };
    if (!is_pointer_in(groups.thread, i) || !holds(is_pthread)) {
      continue;
    }
    at.thread_ident = offset(i);
    for (std::size_t j = i + 1; j < groups.frame; ++j) {
      const auto is_its = [&](Address thread) -> std::optional<bool> {
        const Address pthread = pthread_of(thread);
        const auto number = value<std::uint64_t>(thread + word(j));
        if (!pthread || !number) {
          return {};
        }
        return std::ranges::any_of(kNumberInPthread, [&](std::uint64_t place) {
          const auto tid = value<std::uint32_t>(pthread + place);
          return tid && *tid != 0 && *tid == *number;
        });
      };
      if (is_pointer_in(groups.thread, j) && holds(is_its)) {
        at.thread_native_id = offset(j);
        break;
      }
    }
    return true;
  }
  return false;
}

// The interpreter's own is one of its members: ceval.gil points to _gil, whose
// holder and lock lie side by side. (struct _gil_runtime_state, pycore_gil.h)
void Proof::find_gil() {
  const Address main = interpreters.back();
  for (std::size_t i = groups.interpreter + 1; i < groups.thread; ++i) {
    const auto gil = is_pointer_in(groups.interpreter, i)
                         ? pointer(main + word(i))
                         : std::nullopt;
    if (!gil || !*gil) {
      continue;
    }
    for (std::size_t own = i + 1; own + 2 < groups.thread; ++own) {
      if (main + word(own) != *gil) {
        continue;
      }
      for (std::size_t locked = own + 1; locked + 1 < groups.thread; ++locked) {
        const std::uint64_t from_gil = word(locked) - word(own);
        if (from_gil < 16 || from_gil > 64 || from_gil % 8 != 0 ||
            word(locked + 1) != word(locked) - 8) {
          continue;
        }
        const auto is_locked = value<std::int32_t>(*gil + from_gil);
        const auto holder = pointer(*gil + from_gil - 8);
        const bool fits =
            is_locked && holder &&
            (*is_locked == 0 ||
             (*is_locked == 1 &&
              std::ranges::find(threads, *holder) != threads.end()));
        if (!fits) {
          continue;
        }
        at.interpreter_gil = offset(i);
        at.gil_locked = static_cast<std::uint32_t>(from_gil);
        at.gil_last_holder = static_cast<std::uint32_t>(from_gil - 8);
        // An int, and the structure's first: 0 where it is switched off.
        if (table.free_threaded) {
          at.gil_enabled = 0;
        }
        return;
      }
    }
  }
  unproved.emplace_back("who holds the GIL");
}

// imports.modules, sysdict and builtins, in this order.
void Proof::find_dicts() {
  std::vector<std::uint32_t> dicts;
  for (std::size_t i = groups.interpreter + 1; i < groups.thread; ++i) {
    if (is_pointer_in(groups.interpreter, i) &&
        type_name_at(interpreters.back() + word(i)) == "dict") {
      dicts.push_back(offset(i));
    }
  }
  const bool found = dicts.size() == 3;
  objects.interpreter_modules = found ? dicts[0] : ObjectLayout::kAbsent;
  objects.interpreter_sys_dict = found ? dicts[1] : ObjectLayout::kAbsent;
}

}  // namespace hangdbg
