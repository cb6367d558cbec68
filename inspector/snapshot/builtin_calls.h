// Which of Python's builtins a C function is: "<built-in method acquire of
// _thread.lock>", whether it has a symbol or not.
//
// CPython has the object that it calls in a register, which some function below
// saves on its stack, or on the stack of values of the Python frame that calls.
// An object found there whose definition leads to the very function that runs
// is the one: nothing else does. (A function may go by several names; if
// objects with different ones are found, none is told.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "inspector/cpython/objects/object_reader.h"
#include "inspector/cpython/stacks/target.h"
#include "tracee/memory/address.h"

namespace hangdbg {

struct Builtin {
  Address function;
  std::string name;
  std::size_t word = 0;  // which one has led to it
};

class BuiltinCalls {
 public:
  // `target` must outlive this.
  explicit BuiltinCalls(const Target& target);

  // Those that some of the words point to, in the words' order.
  std::vector<Builtin> among(std::span<const std::uint64_t> words);

  // Those on a frame's stack of values.
  std::vector<Builtin> among_values(Address python_frame);

 private:
  std::optional<Builtin> read_builtin(Address object) const;
  Result<Builtin> read_function(Address object) const;
  Result<Builtin> read_descriptor(Address object) const;

  const Target& subject_;
  std::optional<ObjectReader> objects_;
  std::vector<Address> function_types_;
  std::vector<Address> descriptor_types_;
  std::unordered_map<Address, std::optional<Builtin>> seen_;
};

// What the one that is this function is called.
std::optional<std::string> name_of(std::span<const Builtin> builtins,
                                   Address function);

}  // namespace hangdbg
