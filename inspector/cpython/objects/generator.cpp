#include "inspector/cpython/objects/generator.h"

#include <cstdint>

namespace hangdbg {
namespace {

// enum _framestate (Include/internal/pycore_frame.h): there are two kinds of
// "suspended" from 3.13 on, three from 3.15 on, which numbers them anew.
std::string state_name(int state, int minor) {
  if (minor >= 15) {
    constexpr int kCreated = 0, kExecuting = 4;
    return state == kCreated     ? "created"
           : state < kExecuting  ? "suspended"
           : state == kExecuting ? "running"
                                 : "closed";
  }
  if (state >= 0) {
    return state == 0 ? "running" : "closed";
  }
  return state == (minor >= 13 ? -3 : -2) ? "created" : "suspended";
}

}  // namespace

Result<std::string> generator_state(const ObjectReader& objects,
                                    Address object) {
  const ObjectLayout& at = objects.at();
  const MemoryReader& memory = objects.memory();
  if (at.generator_state != ObjectLayout::kAbsent) {
    return state_name(
        TRY(memory.read_value<std::int8_t>(object + at.generator_state)),
        at.minor);
  }
  const Address frame = TRY(objects.pointer(object + at.generator_frame));
  if (!frame) {
    return "closed";
  }
  if (at.frame_state != ObjectLayout::kAbsent) {
    return state_name(
        TRY(memory.read_value<std::int8_t>(frame + at.frame_state)), at.minor);
  }
  if (TRY(memory.read_value<std::int8_t>(frame + at.frame_executing)) != 0) {
    return "running";
  }
  const auto last = TRY(
      memory.read_value<std::int32_t>(frame + objects.layout().frame_position));
  return last < 0 ? "created" : "suspended";
}

}  // namespace hangdbg
