#include "inspector/cpython/async/greenlet_memory.h"

#include <algorithm>
#include <span>

namespace hangdbg {
namespace {

constexpr std::size_t kMostGreenletWords = 32;
constexpr std::size_t kRest = 13;  // at most so many, up to the parent
constexpr std::uint64_t kMostStack = std::uint64_t{1} << 32;

std::vector<std::uint64_t> read_words(const MemoryReader& memory,
                                      Address from,
                                      std::size_t count);
std::size_t place_of_stack(const ObjectReader& objects,
                           std::span<const std::uint64_t> words,
                           Address object);
bool is_possible(const GreenletWords& words, std::uint64_t saved);

}  // namespace

Result<GreenletWords> read_greenlet_words(const MemoryReader& memory,
                                          const ObjectReader& objects,
                                          const Type& greenlet,
                                          Address object) {
  // Three of its own: weak references, its dict, and the C++ object.
  const Address own = object + objects.at().object_size;
  const bool behind = greenlet.basic_size <= objects.at().object_size + 3 * 8;
  const Address block = behind ? TRY(memory.read_address(own + 16)) : own;
  const auto words = read_words(
      memory, block,
      behind ? kMostGreenletWords
             : std::min<std::size_t>(
                   (greenlet.basic_size - objects.at().object_size) / 8,
                   kMostGreenletWords));
  const std::size_t at = behind ? place_of_stack(objects, words, object) : 0;
  // start, stop, copy, saved, the one below; up to 1.1 the parent and what is
  // run, from 2.0 on the context, which 3.6 has not; the frame.
  const std::size_t context = objects.layout().minor == 6 ? 0 : 1;
  const std::size_t frame = at + (behind ? 5 + context : 7);
  if (frame >= words.size()) {
    return nothing_at("greenlet", object);
  }
  GreenletWords read{
      .start = {words[at]}, .stop = {words[at + 1]}, .frame = {words[frame]}};
  if (!is_possible(read, words[at + 3])) {
    return nothing_at("greenlet", object);
  }
  // What is run, then the parent, in both.
  if (behind) {
    for (std::size_t i = frame + 1;
         i < std::min(words.size(), frame + 1 + kRest); ++i) {
      read.rest.push_back({words[i]});
    }
  } else {
    read.rest = {{words[at + 6]}, {words[at + 5]}};
  }
  return read;
}

Result<FrameChain> read_greenlet_frames(const MemoryReader& memory,
                                        const ObjectReader& objects,
                                        const GreenletWords& words,
                                        std::size_t most,
                                        const FrameChain* expected) {
  if ((*TRY(objects.type_at(TRY(
           memory.read_address(words.frame + objects.layout().object_type)))))
          .path != "frame") {
    return nothing_at("frame", words.frame);
  }
  const std::uint32_t inner = objects.at().frame_object_frame;
  const Address frame = inner == ObjectLayout::kAbsent
                            ? words.frame
                            : TRY(memory.read_address(words.frame + inner));
  return read_frames_from(memory, objects.layout(), frame, most, expected);
}

namespace {

// As many as can be read: what follows a C++ object may be no memory.
std::vector<std::uint64_t> read_words(const MemoryReader& memory,
                                      Address from,
                                      std::size_t count) {
  std::vector<std::uint64_t> words(count);
  std::vector<MemoryReader::Piece> pieces;
  for (std::size_t i = 0; i < count; ++i) {
    pieces.push_back(
        {from + i * 8, std::as_writable_bytes(std::span(words).subspan(i, 1))});
  }
  words.resize(memory.read_each(pieces));
  return words;
}

// In the C++ object, from 2.0 on: its functions; from 3.1 on the Python object;
// the exceptions that it handles; two arguments of a switch.
std::size_t place_of_stack(const ObjectReader& objects,
                           std::span<const std::uint64_t> words,
                           Address object) {
  const std::size_t self = words.size() > 1 && words[1] == object.value ? 1 : 0;
  const int minor = objects.layout().minor;
  const std::size_t exceptions = minor >= 11 || minor == 6 ? 3 : 5;
  return 1 + self + exceptions + 2;
}

// `saved` bytes of its piece of the stack have been overwritten since.
bool is_possible(const GreenletWords& words, std::uint64_t saved) {
  if (!words.active()) {
    return words.begun() || (saved == 0 && !words.frame);
  }
  const bool never_left_off = words.start.value == 1;
  return words.start < words.stop && saved <= words.stop - words.start &&
         (words.main() || never_left_off ||
          words.stop - words.start <= kMostStack);
}

}  // namespace
}  // namespace hangdbg
