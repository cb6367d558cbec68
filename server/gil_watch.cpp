#include "server/gil_watch.h"

#include <fmt/core.h>

#include <algorithm>

namespace hangdbg {

GilWatch::Verdict GilWatch::look() {
  const auto tasks = TaskIds::read(target_.pid);
  if (!tasks) {
    return Verdict::Unknown;
  }
  const auto gil =
      read_gil(target_.memory, target_.python, *tasks, interpreter_);
  if (!gil) {
    return Verdict::Unknown;
  }
  if (!gil->locked) {
    holder_.reset();
    return Verdict::Free;
  }
  auto threads = python_threads(target_.memory, target_.python, *tasks);
  if (!threads) {
    return Verdict::Unknown;
  }
  const auto found =
      std::ranges::find(*threads, gil->holder, &PythonThread::state);
  if (found == threads->end()) {
    return Verdict::Unknown;
  }
  const bool first = !known_ || !holder_;
  const bool stands = holder_ && found->same_place(*holder_);
  holder_ = *std::move(found);
  known_ = true;
  if (first) {
    return Verdict::Unknown;
  }
  return stands ? Verdict::Stands : Verdict::Moves;
}

std::string GilWatch::holder() const {
  if (!holder_) {
    return "another thread";
  }
  std::string text = holder_->tid ? fmt::format("thread {}", *holder_->tid)
                                  : std::string("a thread");
  if (!holder_->function.empty()) {
    const std::string& file = holder_->file;
    text += fmt::format(" in {} ({})", holder_->function,
                        file.substr(file.rfind('/') + 1));
  }
  return text;
}

}  // namespace hangdbg
