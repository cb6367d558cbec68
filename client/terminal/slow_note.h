// A line on stderr, at a terminal, when an answer takes long: what it waits
// for.
#pragma once

#include <memory>
#include <mutex>
#include <string>

namespace hangdbg {

class SlowNote {
 public:
  // `text` is shown if this lives for longer than a second and a half.
  explicit SlowNote(std::string text);
  ~SlowNote();
  SlowNote(const SlowNote&) = delete;
  SlowNote& operator=(const SlowNote&) = delete;

 private:
  struct Shared {
    std::mutex mutex;
    bool over = false;
  };
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

}  // namespace hangdbg
