// CodeCave: unused room for the stub in the target.
//
// The last page of an executable segment is mapped whole, but the segment ends
// somewhere within it. Writing there through /proc/PID/mem works whatever the
// page's protection (also under PR_SET_MDWE), maps nothing and moves nothing.
// What was there is put back.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "injector/checks/preflight.h"
#include "tracee/memory/address.h"

namespace hangdbg {

class CodeCave {
 public:
  // Writes `stub` into code_cave, behind a marker that names the thread that
  // will run it. CodeCave whose marker names a thread that may still be in it
  // (its hangdbg died a moment ago) is left alone. `proc_mem` is /proc/PID/mem.
  // Errors: NoRoom; TimedOut when all of it is left alone; System.
  static Result<CodeCave> write(const AttachTarget& target,
                                const Fd& proc_mem,
                                int tid,
                                std::span<const std::byte> stub);

  Address stub() const { return stub_; }

  // Puts back what was there. Not a destructor's work: only the caller knows
  // that no thread is in the stub any more.
  Status restore();

 private:
  CodeCave(Address at, const Fd& proc_mem) : at_(at), proc_mem_(&proc_mem) {}

  Address at_;    // of the marker
  Address stub_;  // behind it
  const Fd* proc_mem_;
  std::vector<std::byte> original_;
};

// pwrite(2) to /proc/PID/mem, which needs no write permission on the page.
Status write_proc_mem(const Fd& proc_mem,
                      Address to,
                      std::span<const std::byte> bytes);

}  // namespace hangdbg
