// Objects of C++ in a target's memory, told by what the compiler left of their
// class: the first word of one with virtual functions leads to its name
// (Itanium C++ ABI, 2.9.5), in stripped libraries too. No offset of any version
// has to be known to find one among the words of another.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tracee/memory/address.h"
#include "tracee/memory/memory.h"
#include "tracee/proc/proc_maps.h"

namespace hangdbg {

class CppObjects {
 public:
  // Both must outlive this.
  CppObjects(const MemoryReader& memory, const std::vector<Module>& modules)
      : memory_(memory), modules_(modules) {}

  struct Class {
    std::string name;                // "N4c10d16ProcessGroupGlooE"
    std::vector<std::string> bases;  // the first of each, the nearest first

    bool is_a(std::string_view wanted) const;
  };
  // Null, if there is none with virtual functions.
  const Class* class_of(Address object) const;

  // Its words, up to where another of its class begins, or its memory ends.
  std::vector<Address> words_of(Address object, std::size_t most) const;

  // Where the code of a function is that the module of the object's class
  // exports by that name; none if it does not.
  std::optional<Address> function_of(Address object,
                                     std::string_view symbol) const;

 private:
  std::optional<std::string> name_of(Address type_info) const;

  const MemoryReader& memory_;
  const std::vector<Module>& modules_;
  mutable std::map<Address, std::optional<Class>> classes_;  // by virtual table
};

// "ProcessGroupGloo" of "N4c10d16ProcessGroupGlooE": the last part of a name.
std::string last_part(std::string_view mangled);

// A function that returns a number of its object, and at most counts it up: the
// offset of that number, by the function's first bytes. None of any other.
struct Getter {
  std::ptrdiff_t offset = 0;
  std::size_t size = 8;  // of the number, in bytes
  // Bytes that must not be zero for there to be a value.
  std::vector<std::ptrdiff_t> flags = {};
};
std::optional<Getter> parse_getter(std::span<const std::byte> code);

}  // namespace hangdbg
