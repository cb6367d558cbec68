#include "inspector/cpython/objects/locks.h"

namespace hangdbg {

// They differ between patch releases, and by their sizes: a PyMutex alone, or
// the address of a semaphore, a word and a flag; of an RLock that, or the
// PyMutex, its owner, and how often it is held (besides the first time).
Result<PythonLock> read_python_lock(const ObjectReader& objects,
                                    Address object) {
  const Type& type = *TRY(objects.type_of(object));
  if (!is_lock(type.kind)) {
    return nothing_at("lock", object);
  }
  const auto head = objects.at().object_size;
  const Address place = object + head;
  const bool is_rlock = type.kind == Kind::RLock;
  const bool is_mutex = type.basic_size < head + (is_rlock ? 32 : 24);
  PythonLock lock{.object = object,
                  .kind = type.kind,
                  .word = is_mutex ? place : TRY(objects.pointer(place))};
  const auto flag = [&](std::uint64_t offset) -> Result<bool> {
    return (TRY(objects.memory().read_value<std::uint8_t>(place + offset)) &
            1) != 0;
  };
  if (!is_rlock) {
    lock.locked = TRY(flag(is_mutex ? 0 : 16));
    return lock;
  }
  const auto owner = TRY(objects.word(place + 8));
  const auto count = TRY(objects.word(place + 16));
  lock.locked = is_mutex ? TRY(flag(0)) : count > 0;
  lock.owner = lock.locked ? owner : 0;
  lock.count = !lock.locked ? 0 : is_mutex ? count + 1 : count;
  return lock;
}

}  // namespace hangdbg
