// C++ between two Python functions, for called_back.py. Its frames must stay:
// nothing here may be inlined or end in a jump.
#include <unistd.h>

namespace sorting {
namespace {

using Callback = long (*)(long);

template <class T>
struct Walker {
  Callback callback;

  [[gnu::noinline]] long visit(T value) const {
    const long result = callback(value);  // visit
    return result + 1;
  }
};

[[gnu::noinline]] long walk(Callback callback, long value) {
  const long result = Walker<long>{callback}.visit(value);  // walk
  return result * 2;
}

}  // namespace
}  // namespace sorting

extern "C" long call_back(sorting::Callback callback, long value) {
  const long result = sorting::walk(callback, value);  // call_back
  return result - 2;
}

extern "C" void* sleep_without_python(void*) {
  for (;;) {
    pause();
  }
}
