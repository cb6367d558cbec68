// A set of system calls, as `-e` names it: "read,write", "file", "!futex".
#pragma once

#include <bitset>
#include <string_view>

#include "base/result.h"

namespace hangdbg {

class CallSet {
 public:
  static CallSet all();

  // Names of calls and of classes (file, desc, network, process, memory,
  // signal, ipc), also as strace has them ("trace=", "%file"). "!" before the
  // first: all but these; before another one: without it. Errors: Usage.
  static Result<CallSet> parse(std::string_view text);

  void add(const CallSet& other) { numbers_ |= other.numbers_; }
  bool contains(long number) const;

 private:
  static constexpr std::size_t kMost = 512;  // all numbers are below
  std::bitset<kMost> numbers_;
};

}  // namespace hangdbg
