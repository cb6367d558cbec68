#include "inspector/cpython/async/running_loop.h"

#include "inspector/cpython/async/asyncio_lists.h"
#include "inspector/cpython/objects/dict.h"

namespace hangdbg {
namespace {

constexpr int kLoopsInState = 13;  // Modules/_asynciomodule.c
constexpr int kLoopsAsTheyAre = 12;

// Nothing, of None.
Result<std::optional<Address>> loop_or_none(const ObjectReader& objects,
                                            Address loop) {
  const bool none = TRY(objects.type_of(loop))->kind == Kind::None;
  return none ? std::nullopt : std::optional(loop);
}

// Up to 3.11 in an object that has the process's number behind it, since a fork
// must not run the loop on.
Result<std::optional<Address>> loop_in_dict(const ObjectReader& objects,
                                            Address dict) {
  const auto held =
      TRY(find_key(objects, dict, "__asyncio_running_event_loop__"));
  if (!held) {
    return std::nullopt;
  }
  if (objects.at().minor >= kLoopsAsTheyAre) {
    return loop_or_none(objects, *held);
  }
  if (!TRY(objects.type_of(*held))->name.ends_with("_RunningLoopHolder")) {
    return loop_or_none(objects, *held);
  }
  return loop_or_none(objects,
                      TRY(objects.pointer(*held + objects.at().object_size)));
}

}  // namespace

Result<std::optional<Address>> RunningLoops::of(const ObjectReader& objects,
                                                Address thread_state) {
  const ObjectLayout& at = objects.at();
  if (at.minor < kLoopsInState) {
    const Address dict =
        at.thread_dict == ObjectLayout::kAbsent
            ? Address()
            : TRY(objects.pointer(thread_state + at.thread_dict));
    return dict ? loop_in_dict(objects, dict) : std::nullopt;
  }
  if (!field_) {
    field_ = find_running_loop_field(objects, python_, modules_, files_);
  }
  if (*field_ == ObjectLayout::kAbsent) {
    return nothing_at("running loop", thread_state);
  }
  const Address loop = TRY(objects.pointer(thread_state + *field_));
  return loop ? std::optional(loop) : std::nullopt;
}

}  // namespace hangdbg
