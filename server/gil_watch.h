// GilWatch: who has the target's GIL, and does he get on with it?
//
// The agent does not queue for a GIL that may never come
// (bootstrap/executor.c). Whether it will come is seen from outside: a holder
// that runs Python bytecode lets go when asked; one that stands in native code
// does not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/deadline.h"
#include "base/result.h"
#include "injector/preflight.h"
#include "inspector/gil.h"
#include "inspector/native_place.h"

namespace hangdbg {

class GilWatch {
 public:
  explicit GilWatch(const Target& target) : target_(target) {}

  enum class Verdict {
    Free,     // or has been since the last look
    Moves,    // held, and the holder runs Python
    Stands,   // held by the same thread at the same instruction
    Unknown,  // first look, or unreadable
  };
  Verdict look();

  // Whose GIL; the main one's to begin with.
  void watch_interpreter(std::int64_t number) { interpreter_ = number; }

  // "thread 79655 in read (libc.so.6), called from load (data.py), for 12 s";
  // "another thread" where more is not known. Of the last look.
  std::string holder() const;

 private:
  bool runs_bytecode();
  std::optional<NativePlace> native_place_of(int tid) const;

  const Target& target_;
  std::int64_t interpreter_ = 0;
  std::optional<PythonThread> holder_;
  Deadline::Clock::time_point since_;  // it stands where it stands
  Deadline::Clock::time_point looked_at_native_;
};

}  // namespace hangdbg
