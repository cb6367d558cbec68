// Strangers: connections of clients not known yet. Their number is limited: for
// one more the oldest has to go, so that a silent client keeps no other out.
//
// Threads: only the one that runs the io_context.
#pragma once

#include <deque>

#include "base/fd.h"

namespace hangdbg {

class Strangers {
 public:
  // One of them: until it is known, or gone.
  class One {
   public:
    One(Strangers& all, int socket);
    ~One();
    One(const One&) = delete;
    One& operator=(const One&) = delete;

   private:
    friend Strangers;
    void end() const;

    Strangers& all_;
    // Its own: the connection may be closed, and the number another's, before
    // its session has noticed.
    Fd socket_;
  };

  // Those that have to go, and have not gone yet, included.
  int count() const { return count_; }

 private:
  std::deque<One*> waiting_;  // the first to come first
  int count_ = 0;
};

}  // namespace hangdbg
