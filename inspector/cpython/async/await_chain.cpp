#include "inspector/cpython/async/await_chain.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "inspector/cpython/objects/generator.h"
#include "inspector/cpython/objects/items.h"

namespace hangdbg {
namespace {

constexpr std::int32_t kMaxStack = 1 << 20;  // values of one frame
constexpr std::uint64_t kAwaitChainTags =
    7;                           // of a reference; from 3.14. Else 0
constexpr int kMaxWrappers = 8;  // one in another

// What C puts between a coroutine and what it awaits: each has that as its
// first field.
constexpr std::string_view kWrappers[] = {
    "coroutine_wrapper",
    "async_generator_asend",
    "async_generator_athrow",
    "anext_awaitable",
};

Result<bool> follow_awaits(const ObjectReader& objects,
                           Address& next,
                           FrameChain& chain);
Result<Address> unwrap(const ObjectReader& objects, Address object);
Result<Address> awaited_by(const ObjectReader& objects, const RawFrame& frame);

}  // namespace

Result<AwaitChain> read_await_chain(const ObjectReader& objects,
                                    Address coroutine,
                                    std::size_t most) {
  if (!is_coroutine(TRY(objects.type_of(coroutine))->kind)) {
    return nothing_at("coroutine", coroutine);
  }
  AwaitChain chain;
  chain.state = TRY(generator_state(objects, coroutine));
  std::set<Address> met;
  Address next = coroutine;
  while (next) {
    if (chain.frames.frames.size() >= most || !met.insert(next).second) {
      chain.frames.complete = false;
      break;
    }
    const auto more = follow_awaits(objects, next, chain.frames);
    if (!more || !*more) {
      chain.frames.complete = more.has_value();
      break;
    }
  }
  std::ranges::reverse(chain.frames.frames);
  return chain;
}

Result<Address> frame_of(const ObjectReader& objects, Address coroutine) {
  const ObjectLayout& at = objects.at();
  return at.generator_iframe != ObjectLayout::kAbsent
             ? coroutine + at.generator_iframe
             : objects.pointer(coroutine + at.generator_frame);
}

bool is_coroutine(Kind kind) {
  return kind == Kind::Coroutine || kind == Kind::Generator ||
         kind == Kind::AsyncGenerator;
}

namespace {

// Adds the frame of `next`, and makes that what the frame awaits. False at the
// end.
Result<bool> follow_awaits(const ObjectReader& objects,
                           Address& next,
                           FrameChain& chain) {
  const Address object = TRY(unwrap(objects, next));
  if (!is_coroutine(TRY(objects.type_of(object))->kind)) {
    return false;
  }
  const std::string state = TRY(generator_state(objects, object));
  if (state != "suspended" && state != "created") {
    return false;
  }
  const RawFrame frame = TRY(read_frame(objects.memory(), objects.layout(),
                                        TRY(frame_of(objects, object))));
  const CodeWords words =
      TRY(read_code_words(objects.memory(), objects.layout(), frame.code));
  chain.codes.emplace(frame.code, words);
  chain.frames.push_back(frame);
  next = state == "suspended" ? TRY(awaited_by(objects, frame)) : Address{};
  return true;
}

Result<Address> unwrap(const ObjectReader& objects, Address object) {
  for (int i = 0; i < kMaxWrappers; ++i) {
    const Type& type = *TRY(objects.type_of(object));
    if (std::ranges::find(kWrappers, type.path) == std::end(kWrappers)) {
      return object;
    }
    object = TRY(objects.pointer(object + objects.at().object_size));
  }
  return nothing_at("coroutine", object);
}

// What it awaits. None where the stack is empty.
Result<Address> awaited_by(const ObjectReader& objects, const RawFrame& frame) {
  const ObjectLayout& at = objects.at();
  Address begin = frame.address + at.frame_values;
  Address base = begin;
  if (at.frame_stack != ObjectLayout::kAbsent) {
    begin = base = TRY(objects.pointer(frame.address + at.frame_stack));
  } else {
    const Address names = TRY(objects.pointer(frame.code + at.code_names));
    base = begin + TRY(read_size(objects, names, Kind::Tuple)) * 8;
  }
  Address end;
  if (at.frame_stack_top != ObjectLayout::kAbsent) {
    end = TRY(objects.pointer(frame.address + at.frame_stack_top));
  } else {
    const auto depth = TRY(objects.memory().read_value<std::int32_t>(
        frame.address + at.frame_stack_depth));
    if (depth < 0 || depth > kMaxStack) {
      return nothing_at("frame", frame.address);
    }
    end = begin + static_cast<std::uint64_t>(depth) * 8;
  }
  // From 3.15 on SEND has an index, or nothing, above what it sends to
  // (Python/bytecodes.c).
  end = at.minor >= 15 ? end - 8 : end;
  return end.value > base.value
             ? Address{TRY(objects.word(end - 8)) & ~kAwaitChainTags}
             : Address{};
}

}  // namespace
}  // namespace hangdbg
