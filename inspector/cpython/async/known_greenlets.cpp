#include "inspector/cpython/async/known_greenlets.h"

#include "inspector/cpython/async/greenlet_memory.h"

namespace hangdbg {
namespace {

constexpr int kMostGreenletBases = 100;
constexpr std::size_t kKnownGreenletFrames = 1000;

Result<GreenletWords> words_of(const ObjectReader& objects, Address object) {
  const Type* type = TRY(objects.type_of(object));
  for (int i = 0; i < kMostGreenletBases; ++i) {
    if (type->path == "greenlet.greenlet") {
      return read_greenlet_words(objects.memory(), objects, *type, object);
    }
    if (!type->base) {
      break;
    }
    type = TRY(objects.type_at(type->base));
  }
  return nothing_at("greenlet", object);
}

}  // namespace

// From greenlet 2.0 on each knows it; before, its parents lead there.
Result<Address> main_greenlet_of(const ObjectReader& objects,
                                 Address greenlet) {
  const GreenletWords words = TRY(words_of(objects, greenlet));
  if (words.main()) {
    return greenlet;
  }
  for (const Address word : words.rest) {
    if (word == greenlet || !word) {
      continue;
    }
    const auto other = words_of(objects, word);
    if (other && other->main()) {
      return word;
    }
  }
  return nothing_at("main greenlet", greenlet);
}

Result<PythonStack> stack_of_greenlet(const ObjectReader& objects,
                                      PythonStackReader& stacks,
                                      Address greenlet) {
  const GreenletWords words = TRY(words_of(objects, greenlet));
  if (!words.suspended()) {
    return nothing_at("suspended greenlet", greenlet);
  }
  return stacks.name(TRY(read_greenlet_frames(objects.memory(), objects, words,
                                              kKnownGreenletFrames)));
}

}  // namespace hangdbg
