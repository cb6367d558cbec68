#include "diagnosis/waits/awaited_buffered_file.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "inspector/cpython/locks/python_locks.h"
#include "inspector/cpython/objects/attributes.h"
#include "inspector/cpython/objects/dict.h"
#include "inspector/cpython/runtime/interpreters.h"
#include "inspector/cpython/stacks/python_locals.h"
#include "inspector/cpython/stacks/value_stack.h"

namespace hangdbg {
namespace {

constexpr std::size_t kBufferedMostWords = 64;
constexpr std::size_t kBufferedStackPlaces = 32;

// The fields of an object of io's C code; empty for any other.
std::vector<std::uint64_t> words_of(const ObjectReader& objects,
                                    Address object,
                                    const Type& type) {
  std::vector<std::uint64_t> words(
      std::min<std::size_t>(type.basic_size / 8, kBufferedMostWords));
  const bool read =
      type.path.starts_with("_io.") &&
      objects.memory().read(object, std::as_writable_bytes(std::span(words)));
  return read ? words : std::vector<std::uint64_t>();
}

std::optional<AwaitedBufferedFile> awaited_in(const ObjectReader& objects,
                                              Address object,
                                              std::span<const Address> parked,
                                              int depth) {
  const auto type = objects.type_of(object);
  if (!type) {
    return {};
  }
  const auto words = words_of(objects, object, **type);
  const bool buffered = (*type)->path.starts_with("_io.Buffered");
  for (std::size_t i = objects.at().object_size / 8; i + 1 < words.size();
       ++i) {
    if (buffered &&
        std::ranges::find(parked, Address{words[i]}) != parked.end()) {
      return AwaitedBufferedFile{object, (*type)->path, words[i + 1]};
    }
  }
  // A text file contains a buffered one, a pair two.
  for (const std::uint64_t word :
       depth > 0 ? words : std::vector<std::uint64_t>()) {
    const bool pointer = word > 0x10000 && word % 8 == 0;
    if (auto inner = pointer
                         ? awaited_in(objects, Address{word}, parked, depth - 1)
                         : std::nullopt) {
      return inner;
    }
  }
  return {};
}

// sys.stdout, which print() writes to, and sys.stderr.
std::vector<Address> standard_streams(const ProcessSnapshot& of) {
  std::vector<Address> streams;
  const ObjectReader& objects = of.objects();
  const auto interpreters = read_interpreters(of.memory(), of.process().python);
  const auto modules = interpreters && !interpreters->empty()
                           ? objects.pointer(interpreters->back().state +
                                             objects.at().interpreter_modules)
                           : std::unexpected(Error());
  const auto sys = modules ? find_key(objects, *modules, "sys")
                           : Result<std::optional<Address>>(std::nullopt);
  if (!sys || !*sys) {
    return streams;
  }
  const auto type = objects.type_of(**sys);
  for (const char* const name : {"stdout", "stderr", "stdin"}) {
    const auto stream = type ? find_in_instance(objects, **sys, **type, name)
                             : Result<std::optional<Address>>(std::nullopt);
    if (stream && *stream) {
      streams.push_back(**stream);
    }
  }
  return streams;
}

// What the frame works with: its value stack, its variables, and their
// attributes.
std::vector<Address> reached_by(const ObjectReader& objects,
                                const PythonFrame& frame) {
  constexpr std::size_t kMostReached = 2000;
  auto reached = possible_values(objects, frame, kBufferedStackPlaces);
  const auto locals = read_locals(objects, frame.address, frame.code);
  const auto globals = read_globals(objects, frame.address, frame.code);
  for (const auto* const some : {&locals, &globals}) {
    if (!*some) {
      continue;
    }
    for (const Variable& variable : **some) {
      reached.push_back(variable.object);
      const auto type = objects.type_of(variable.object);
      if (some == &locals && type && (*type)->in_python()) {
        (void)each_attribute(objects, variable.object, **type,
                             [&](const std::string&, Address value) {
                               reached.push_back(value);
                               return reached.size() < kMostReached;
                             });
      }
    }
  }
  return reached;
}

}  // namespace

std::optional<AwaitedBufferedFile> awaited_buffered_file(
    const ProcessSnapshot& of,
    const ThreadSnapshot& thread) {
  if (!of.is_python() || !thread.sleeps_in("futex") ||
      thread.frames().empty()) {
    return {};
  }
  const ObjectReader& objects = of.objects();
  objects.allow_reads();
  const auto parked = parked_by(objects, thread.wait);
  if (parked.empty()) {
    return {};
  }
  auto candidates = reached_by(objects, thread.frames().front());
  std::ranges::copy(standard_streams(of), std::back_inserter(candidates));
  for (const Address object : candidates) {
    if (auto found = awaited_in(objects, object, parked, /*depth=*/1)) {
      return found;
    }
  }
  return {};
}

}  // namespace hangdbg
