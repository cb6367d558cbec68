// What ObjectReaders have read, noted.
//
// A result is a function of what was read for it. So if all of that is the same
// at another moment, the result holds at that moment as well, however long it
// took to come by.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "tracee/memory/address.h"
#include "tracee/memory/memory.h"

namespace hangdbg {

class ReadNotes {
 public:
  void add(Address from, std::span<const std::byte> bytes);

  // Whether all of it is the same now: few system calls. False where nothing
  // was noted.
  bool hold(const MemoryReader& memory) const;

 private:
  std::map<Address, std::vector<std::byte>> notes_;
};

// While it lives, all that ObjectReaders of this thread read is noted. One at a
// time.
class NoteTaker {
 public:
  explicit NoteTaker(ReadNotes& notes);
  NoteTaker(const NoteTaker&) = delete;
  NoteTaker& operator=(const NoteTaker&) = delete;
  ~NoteTaker();
};

// An ObjectReader's memory calls this.
void note_read(Address from, std::span<const std::byte> bytes);

}  // namespace hangdbg
