#include "injector/steps.h"

namespace hangdbg {

void Steps::done(std::string name) {
  const auto now = Clock::now();
  add(std::move(name), now - last_);
  last_ = now;
}

void Steps::add(std::string name, Clock::duration duration) {
  steps_.emplace_back(
      std::move(name),
      std::chrono::duration<double, std::micro>(duration).count());
}

}  // namespace hangdbg
