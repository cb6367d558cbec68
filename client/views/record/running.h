// A recording that runs: a thread that finds the processes, and one that takes
// the samples, until both are told to end.
#pragma once

#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/result.h"
#include "client/views/record/session.h"
#include "profiler/sampling/recording.h"

namespace hangdbg {

class RunningRecording {
 public:
  // `one_alone`: where the only process that is named cannot be opened, all is
  // over. Start it with the signals blocked that main takes.
  RunningRecording(const std::vector<RecordedTarget>& targets,
                   bool children,
                   bool one_alone,
                   const RecordingOptions& options);
  ~RunningRecording();  // stops it
  RunningRecording(const RunningRecording&) = delete;
  RunningRecording& operator=(const RunningRecording&) = delete;

  Recording& recording();
  // The processes have, or the only one could not be opened.
  bool all_ended() const;
  // False: a thread is held up, by a process whose memory cannot be read just
  // now. It may hold what a destructor waits for: end by _exit.
  bool stop();
  // Once it has stopped: why none could be opened.
  std::optional<Error> why_not() const;

 private:
  struct Shared;
  void start(void (*run)(Shared&));
  static void look_around(Shared& shared);

  std::shared_ptr<Shared> shared_;  // with all threads
  std::vector<std::thread> threads_;
  std::optional<bool> stopped_;
};

}  // namespace hangdbg
