// What the descriptors of a traced process lead to: "3</etc/hosts>",
// "5<TCP 10.0.0.1:5000->10.0.0.2:80>".
//
// What was seen is kept for a moment, and forgotten where a call may change it:
// to ask anew for each call would cost more than all else.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/fd.h"
#include "tracee/ptrace/traced_call.h"

namespace hangdbg {

class DescriptorNames {
 public:
  explicit DescriptorNames(int pid) : pid_(pid) {}

  // "3", where nothing is known of it.
  std::string text(std::int64_t fd);

  // The same, and "AT_FDCWD".
  std::string folder_text(std::int64_t fd);

  // The same of one that was just made.
  std::string new_text(std::int64_t fd);

  // Forgets what the call changes: at its entry and at its exit, since other
  // threads ask meanwhile.
  void forget(const TracedCall& call);

 private:
  using Clock = std::chrono::steady_clock;
  struct Known {
    std::string name;
    Clock::time_point at;
  };

  const std::string& name(int fd);
  std::string look(int fd);
  std::string socket_name(int fd, const std::string& link);

  int pid_;
  Fd process_;  // pidfd_open(2), at the first socket
  std::unordered_map<int, Known> known_;
};

}  // namespace hangdbg
