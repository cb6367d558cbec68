// OutOfProcessValues: the variables of frames that were read out of process,
// and what is in them, in the same typed answers that the agent gives. From
// memory alone: so without the GIL, and without any code of the program.
//
// A frame and a value go by numbers of ours. A value is kept by its address,
// not alive: what has taken its place meanwhile may be shown for it.
//
// Threads: one call at a time. Each may take some tens of milliseconds.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/result.h"
#include "injector/checks/preflight.h"
#include "inspector/cpython/objects/object_reader.h"
#include "inspector/cpython/stacks/python_stack.h"
#include "protocol/requests/evaluate.h"
#include "protocol/requests/scopes.h"
#include "protocol/requests/variables.h"

namespace hangdbg {

class OutOfProcessValues {
 public:
  // `target` must outlive this.
  explicit OutOfProcessValues(const AttachTarget& target) : target_(target) {}

  // Whether that may be the number of a frame or value of ours: beyond what the
  // agent gives out, and within what editors count with.
  static bool is_ours(std::int64_t number) { return number >= kFirst; }

  // One without an address has no variables: a C function's.
  std::int64_t add(PythonFrame frame);

  // Errors of all: NoSuchFrame, of a number that is forgotten since there were
  // too many; Unreadable, also when the function has returned.
  Result<dap::Scopes::Body> scopes(std::int64_t frame);
  Result<dap::Variables::Body> variables(
      const dap::Variables::Arguments& wanted);

  // What `peek` understands. Errors: peek()'s too.
  Result<dap::Evaluate::Body> evaluate(
      const dap::Evaluate::Arguments& wanted) const;

 private:
  static constexpr std::int64_t kFirst = 1'000'000'000;

  struct Expandable {
    enum class Kind { Locals, Globals, Object };
    Kind kind;
    Address frame, code;  // of the first two
    Address object;       // of the third
  };

  // The last ones, by number.
  template <class T>
  class Numbered {
   public:
    std::int64_t add(T one);
    // Errors: NoSuchFrame.
    Result<T> find(std::int64_t number) const;

   private:
    std::int64_t first_ = kFirst;
    std::deque<T> kept_;
  };

  std::vector<dap::Variable> indexed(const ObjectReader& objects,
                                     Address object,
                                     std::uint64_t first,
                                     std::size_t most);
  Result<std::vector<dap::Variable>> named(const ObjectReader& objects,
                                           const Expandable& in);
  dap::Variable shown(const ObjectReader& objects,
                      std::string name,
                      Address object);

  const AttachTarget& target_;
  Numbered<PythonFrame> frames_;
  Numbered<Expandable> expandable_;
};

}  // namespace hangdbg
