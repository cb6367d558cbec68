// GilWatch: the holder of the target's GIL, and whether it makes progress.
//
// The agent does not queue for a GIL that may never come
// (bootstrap/executor.c). Whether it will come is seen out of process: a holder
// that runs Python bytecode releases it on request; one in native code does
// not. Without a GIL it is a pause of all threads that is waited for, and
// each that is attached to the interpreter holds it up as a holder does; but
// not one that has itself paused all others, to collect garbage, say: whoever
// wants the next pause queues behind it, and nobody waits longer for that.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/result.h"
#include "injector/checks/preflight.h"
#include "inspector/cpython/runtime/gil.h"
#include "inspector/native/native_place.h"

namespace hangdbg {

class GilWatch {
 public:
  explicit GilWatch(const AttachTarget& target) : target_(target) {}

  enum class Verdict {
    Free,     // or has been since the last look
    Moves,    // held, and the holder runs Python; all of them
    Stands,   // held by the same thread at the same instruction
    Unknown,  // first look, or unreadable
  };
  Verdict look();

  // Whose GIL; the main one's to begin with.
  void watch_interpreter(std::int64_t number) { interpreter_ = number; }

  // Whether the holder had paused all other threads itself, at the last look.
  bool paused() const { return paused_; }

  // For how long the holder has made no progress, as far as we have looked.
  Deadline::Clock::duration stood() const {
    return Deadline::Clock::now() - since_;
  }

  // "thread 79655 in read (libc.so.6), called from load (data.py:18), for 12
  // s"; "another thread" where more is not known. Of the last look.
  std::string holder();
  // "the GIL is held by " the holder; where there is no GIL, "a pause of all
  // threads is held up by " it, or "all threads are paused by " it.
  std::string reason();

 private:
  Result<std::vector<PythonThread>> read_holders();
  void keep(PythonThread holder, bool moves);
  std::vector<PythonThread> those_that_stand(
      std::vector<PythonThread> threads) const;
  bool runs_bytecode(const PythonThread& thread);
  std::optional<NativePlace> native_place_of(int tid,
                                             const HiddenName& hidden) const;
  std::optional<std::string> hidden_name(std::size_t module, Address code);

  const AttachTarget& target_;
  std::int64_t interpreter_ = 0;
  bool has_gil_ = true;
  bool paused_ = false;                 // by the holder
  std::vector<PythonThread> holders_;   // one, if there is a GIL
  std::optional<PythonThread> holder_;  // the one without progress, if any
  Deadline::Clock::time_point since_;   // it has been at its place
  Deadline::Clock::time_point looked_at_native_;
  bool may_stop_ = false;  // a thread, in this look, to see where it is
  // Of the modules' files, where they were asked for: reading one is slow.
  std::map<std::size_t, std::optional<FileSymbols>> file_symbols_;
};

}  // namespace hangdbg
