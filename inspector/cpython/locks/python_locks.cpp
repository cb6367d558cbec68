#include "inspector/cpython/locks/python_locks.h"

#include <fmt/core.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include <algorithm>
#include <span>

#include "inspector/cpython/objects/attributes.h"
#include "inspector/cpython/objects/dict.h"
#include "inspector/cpython/objects/numbers.h"
#include "inspector/cpython/stacks/python_locals.h"
#include "inspector/cpython/stacks/value_stack.h"

namespace hangdbg {
namespace {

constexpr int kMutexMinor = 13;  // from which on there are PyMutexes
constexpr std::size_t kStackPlaces = 32;
constexpr std::size_t kMostAttributes = 200;  // of one variable

std::optional<PythonLock> lock_with(const ObjectReader& objects,
                                    Address object,
                                    std::span<const Address> words);
std::optional<NamedLock> find_in_attributes(const ObjectReader& objects,
                                            const Variable& variable,
                                            std::span<const Address> words);
std::optional<Address> lock_of_call(const ObjectReader& objects,
                                    Address callable);
std::optional<Address> lock_of_entered(const ObjectReader& objects,
                                       const PythonFrame& frame);
std::optional<Address> lock_of_condition_at(const ObjectReader& objects,
                                            const PythonFrame& frame);

}  // namespace

// Up to 3.13 that of a semaphore. A PyMutex is waited for on a semaphore of the
// waiter's own, in a record that has the mutex's address before it (struct
// wait_entry, Python/parking_lot.c).
std::vector<Address> parked_by(const ObjectReader& objects,
                               const WaitSample& wait) {
  const auto& call = wait.call;
  const auto operation = call.args[1] & FUTEX_CMD_MASK;
  if (call.running || call.number != SYS_futex ||
      (operation != FUTEX_WAIT && operation != FUTEX_WAIT_BITSET)) {
    return {};
  }
  const Address word{call.args[0]};
  std::vector<Address> words = {word};
  const auto parked = objects.pointer(word - 8);
  constexpr std::uint64_t kLeastAddress = 0x10000;  // of what may be mapped
  if (parked && parked->value >= kLeastAddress &&
      objects.at().minor >= kMutexMinor) {
    words.push_back(*parked);
  }
  return words;
}

std::optional<NamedLock> find_lock(const ObjectReader& objects,
                                   const PythonFrame& frame,
                                   std::span<const Address> words) {
  objects.allow_reads();
  auto variables = read_locals(objects, frame.address, frame.code);
  const auto globals = read_globals(objects, frame.address, frame.code);
  if (variables && globals) {
    variables->insert(variables->end(), globals->begin(), globals->end());
  }
  for (const Variable& variable :
       variables ? *variables : std::vector<Variable>()) {
    if (const auto lock = lock_with(objects, variable.object, words)) {
      return NamedLock{variable.name, *lock};
    }
  }
  for (const Variable& variable :
       variables ? *variables : std::vector<Variable>()) {
    if (auto found = find_in_attributes(objects, variable, words)) {
      return found;
    }
  }
  for (const Address value : possible_values(objects, frame, kStackPlaces)) {
    const auto of_call = lock_of_call(objects, value);
    if (const auto lock = lock_with(objects, of_call.value_or(value), words)) {
      return NamedLock{"", *lock};
    }
  }
  return {};
}

std::vector<PythonLock> held_by_with(const ObjectReader& objects,
                                     const PythonFrame& frame) {
  std::vector<PythonLock> held;
  const auto add = [&](Address object) {
    const auto lock = read_python_lock(objects, object);
    if (lock && lock->locked &&
        std::ranges::find(held, lock->object, &PythonLock::object) ==
            held.end()) {
      held.push_back(*lock);
    }
  };
  const auto values = values_below_handler(objects, frame);
  for (const Address value : values ? *values : std::vector<Address>()) {
    add(lock_of_call(objects, value).value_or(value));
  }
  for (const auto& at_edge : {lock_of_entered(objects, frame),
                              lock_of_condition_at(objects, frame)}) {
    if (at_edge) {
      add(*at_edge);
    }
  }
  return held;
}

namespace {

std::optional<PythonLock> lock_with(const ObjectReader& objects,
                                    Address object,
                                    std::span<const Address> words) {
  const auto lock = read_python_lock(objects, object);
  return lock && std::ranges::find(words, lock->word) != words.end()
             ? std::optional(*lock)
             : std::nullopt;
}

std::optional<NamedLock> find_in_attributes(const ObjectReader& objects,
                                            const Variable& variable,
                                            std::span<const Address> words) {
  const auto type = objects.type_of(variable.object);
  if (!type || !(*type)->in_python()) {
    return {};
  }
  std::optional<NamedLock> found;
  std::size_t seen = 0;
  (void)each_attribute(
      objects, variable.object, **type,
      [&](const std::string& name, Address value) {
        if (const auto lock = lock_with(objects, value, words)) {
          found = {fmt::format("{}.{}", variable.name, name), *lock};
        }
        return !found && ++seen < kMostAttributes;
      });
  return found;
}

// Of a bound __exit__ or acquire: the lock. A Condition's methods are Python's.
std::optional<Address> lock_of_call(const ObjectReader& objects,
                                    Address callable) {
  const auto type = objects.type_of(callable);
  if (!type) {
    return {};
  }
  const auto self = (*type)->kind == Kind::Builtin
                        ? objects.pointer(callable + objects.at().builtin_self)
                    : (*type)->kind == Kind::Method
                        ? objects.pointer(callable + objects.at().method_self)
                        : Result<Address>(callable);
  const auto self_type =
      self ? objects.type_of(*self) : std::unexpected(Error());
  if (!self_type) {
    return {};
  }
  if (is_lock((*self_type)->kind)) {
    return *self;
  }
  if ((*self_type)->name != "Condition") {
    return {};
  }
  const auto inner = find_in_instance(objects, *self, **self_type, "_lock");
  return inner && *inner ? **inner : std::optional<Address>();
}

bool is_true(const ObjectReader& objects, Address object) {
  const auto type =
      object ? objects.type_of(object) : nothing_at("object", object);
  const auto value = type && (*type)->kind == Kind::Bool
                         ? int_value(objects, object)
                         : std::unexpected(Error());
  return value && *value == 1;
}

// Its __enter__ has returned, and the block has not begun.
std::optional<Address> lock_of_entered(const ObjectReader& objects,
                                       const PythonFrame& frame) {
  const auto values = values_of_entered(objects, frame);
  if (!values || values->size() < 2 || !is_true(objects, values->back())) {
    return {};
  }
  const Address exit = (*values)[values->size() - 2];
  return exit ? std::optional(lock_of_call(objects, exit).value_or(exit))
              : std::nullopt;
}

// Condition.__enter__ and __exit__ return what those of its lock do
// (Lib/threading.py): while True lies where the callable was, the first has
// taken the lock. The second releases it in its only call, before which there
// may be a signal's handler (up to 3.9 at each instruction, Python/ceval.c) or
// a trace function.
std::optional<Address> lock_of_condition_at(const ObjectReader& objects,
                                            const PythonFrame& frame) {
  // Before it the stack has nothing yet. From 3.15 on RESUME is longer.
  const std::int64_t loaded = objects.at().minor >= 15 ? 6 : 4;
  const std::int64_t released = objects.at().minor <= 10 ? 8 : 28;
  const bool enters = frame.function == "__enter__";
  if ((!enters && frame.function != "__exit__") ||
      !frame.file.ends_with("/threading.py")) {
    return {};
  }
  const bool held = enters ? frame.offset >= loaded : frame.offset < released;
  if (!held) {
    return {};
  }
  if (enters) {
    const auto stack = places_of(objects, frame, 1);
    if (stack.empty() || !is_true(objects, stack.front())) {
      return {};
    }
  }
  const auto self = find_name(objects, frame.address, frame.code, "self");
  return self ? lock_of_call(objects, *self) : std::nullopt;
}

}  // namespace
}  // namespace hangdbg
