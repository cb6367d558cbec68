#include "client/views/record/running.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "base/deadline.h"
#include "client/views/record/reason_finder.h"
#include "client/views/record/targets.h"

namespace hangdbg {
namespace {

constexpr auto kLookAround = std::chrono::milliseconds(10);
constexpr auto kToEndRecording = std::chrono::seconds(2);

}  // namespace

struct RunningRecording::Shared {
  Shared(const std::vector<RecordedTarget>& processes,
         bool of_children,
         bool alone,
         const RecordingOptions& how)
      : recording(how),
        targets(processes),
        children(of_children),
        one_alone(alone),
        sampling(how.sampling) {}

  Recording recording;
  std::vector<RecordedTarget> targets;
  bool children;
  bool one_alone;
  SamplingOptions sampling;
  std::atomic<bool> enough = false;
  std::atomic<bool> all_ended = false;
  std::atomic<int> running = 0;
  std::optional<Error> why_not;  // the finder's, once it has ended
  bool any_opened = false;
};

RunningRecording::RunningRecording(const std::vector<RecordedTarget>& targets,
                                   bool children,
                                   bool one_alone,
                                   const RecordingOptions& options)
    : shared_(std::make_shared<Shared>(targets, children, one_alone, options)) {
  start([](Shared& shared) { look_around(shared); });
  start([](Shared& shared) { shared.recording.run(); });
  if (options.sampling.waits) {
    start([](Shared& shared) {
      find_reasons(*shared.sampling.waits, shared.enough);
    });
  }
}

void RunningRecording::start(void (*run)(Shared&)) {
  ++shared_->running;
  threads_.emplace_back([shared = shared_, run] {
    run(*shared);
    --shared->running;
  });
}

RunningRecording::~RunningRecording() {
  stop();
}

Recording& RunningRecording::recording() {
  return shared_->recording;
}

bool RunningRecording::all_ended() const {
  return shared_->all_ended;
}

bool RunningRecording::stop() {
  if (!stopped_) {
    shared_->enough = true;
    shared_->recording.stop();
    const Deadline patience = Deadline::in(kToEndRecording);
    while (shared_->running > 0 && !patience.expired()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    stopped_ = shared_->running == 0;
    for (std::thread& one : threads_) {
      *stopped_ ? one.join() : one.detach();
    }
  }
  return *stopped_;
}

std::optional<Error> RunningRecording::why_not() const {
  return shared_->running == 0 && !shared_->any_opened ? shared_->why_not
                                                       : std::nullopt;
}

// On a thread of its own: to open a process may take long.
void RunningRecording::look_around(Shared& shared) {
  RecordTargets finder(shared.recording, shared.targets, shared.children,
                       shared.sampling);
  while (!shared.enough) {
    finder.look();
    const bool hopeless =
        shared.one_alone && !finder.any_was_opened() && finder.error();
    if (finder.all_have_ended() || hopeless) {
      break;
    }
    std::this_thread::sleep_for(kLookAround);
  }
  shared.any_opened = finder.any_was_opened();
  shared.why_not = finder.error();
  shared.all_ended = true;
}

}  // namespace hangdbg
