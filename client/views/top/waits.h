// What the threads of some processes wait for, looked up now and then on a
// thread of its own: it takes longer than a sample.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"

namespace hangdbg {

// Of all threads of these processes, by tid. What is not known by the deadline
// is left out.
std::map<int, std::string> waits_of(const std::vector<int>& pids,
                                    Deadline deadline);

class WaitsLooker {
 public:
  WaitsLooker();
  ~WaitsLooker();
  WaitsLooker(const WaitsLooker&) = delete;
  WaitsLooker& operator=(const WaitsLooker&) = delete;

  // Looks at these, unless it looks already or has just done so at a cost.
  void ask(const std::vector<int>& pids);
  // What was found since this was last called.
  std::optional<std::map<int, std::string>> take();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace hangdbg
