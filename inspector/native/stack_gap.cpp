#include "inspector/native/stack_gap.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>

#include "inspector/native/call_site_x86_64.h"
#include "inspector/native/stack_copy.h"

namespace hangdbg {
namespace {

// How much of a stack functions without unwind information may take together.
constexpr std::uint64_t kMostOfGap = 1U << 16;

// At a call the stack is aligned so, and the return address lies below.
constexpr std::uint64_t kAlignment = 16;

// How far from a function's stack pointer its frame's address may be.
constexpr std::uint64_t kMostOfFrame = 1U << 12;

// For one stack.
constexpr int kMostTries = 1000;

// Frame pointers that are tried for one return address.
constexpr std::size_t kStackGapMostBases = 8;

// Callers whose calls are looked at.
constexpr std::size_t kStackGapMostLinks = 16;

// Functions that are looked through for a way to code without tables.
constexpr std::size_t kMostFunctions = 16;

}  // namespace

// Of one stack.
class GapCrosser::Crossing {
 public:
  Crossing(GapCrosser& process,
           NativeStack& stack,
           const StackCopy& copy,
           Deadline deadline)
      : process_(process),
        stack_(stack),
        copy_(copy),
        copied_(copy.from + copy.bytes.size()),
        deadline_(deadline) {}

  // From the last frame to the stack's end, over further gaps. Where it fails
  // the stack is as it was.
  bool go_on();

 private:
  bool go_on_with(Address base);
  bool cross_gap();
  bool go_on_from(Address slot, Address return_address, Address base);
  bool append(const NativeStack& rest, std::size_t first, bool behind_gap);
  bool has_unwound(const NativeStack& rest);
  bool can_have_called(const NativeFrame& caller, const NativeFrame& callee);
  std::vector<Address> bases(Address first, Address slot);
  Address word(Address at) const;

  GapCrosser& process_;
  NativeStack& stack_;
  const StackCopy& copy_;
  const Address copied_;  // up to here
  const Deadline deadline_;
  int tries_ = 0;
};

GapCrosser::GapCrosser(const MemoryReader& memory,
                       const std::vector<Module>& modules,
                       NativeUnwinder& unwinder)
    : memory_(memory), unwinder_(unwinder) {
  for (const Module& module : modules) {
    for (const Mapping& segment : module.segments) {
      if (segment.executable) {
        text_.push_back({segment.start, segment.end});
      }
    }
  }
  std::ranges::sort(text_, {}, &AddressRange::start);
}

void GapCrosser::cross(NativeStack& stack,
                       const StackCopy& copy,
                       Deadline deadline) {
  Crossing(*this, stack, copy, deadline).go_on();
}

bool GapCrosser::Crossing::go_on() {
  if (!stack_.baseless) {
    return cross_gap();
  }
  const Address sp = stack_.frames.back().sp;
  const Address last = std::min(sp + kMostOfFrame, copied_);
  for (Address base{(sp.value + 7) & ~7ULL}; base < last; base = base + 8) {
    if (++tries_ > kMostTries || deadline_.expired()) {
      return false;
    }
    if (go_on_with(base)) {
      return true;
    }
  }
  return false;
}

bool GapCrosser::Crossing::go_on_with(Address base) {
  const NativeFrame last = stack_.frames.back();
  user_regs_struct registers{};
  registers.rip = last.code().value;
  registers.rsp = last.sp.value;
  registers.rbp = base.value;
  const auto rest = process_.unwinder_.unwind(
      registers, deadline_, CopyUnwinder::kMostFrames - stack_.frames.size());
  return rest && rest->frames.size() > 1 && has_unwound(*rest) &&
         can_have_called(rest->frames[1], last) &&
         append(*rest, 1, last.behind_gap);
}

bool GapCrosser::Crossing::cross_gap() {
  const Address sp = stack_.frames.back().sp;
  const Address last = std::min(sp + kMostOfGap, copy_.end);
  if (sp < copy_.from || copied_ < last) {
    return false;
  }
  const Address first{(sp.value + 7) & ~7ULL};
  Address slot{(sp.value + 7) / kAlignment * kAlignment + 8};
  bool any = false;
  for (; slot + 8 <= last; slot = slot + kAlignment) {
    const Address return_address = word(slot);
    if (!process_.is_return_address(return_address, deadline_)) {
      continue;
    }
    any = true;
    for (const Address base : bases(first, slot)) {
      if (++tries_ > kMostTries || deadline_.expired()) {
        return false;
      }
      if (go_on_from(slot, return_address, base)) {
        return true;
      }
    }
  }
  stack_.complete = !any;
  return stack_.complete;
}

// Such a frame is looked for by the call, not by what follows it.
bool GapCrosser::Crossing::go_on_from(Address slot,
                                      Address return_address,
                                      Address base) {
  user_regs_struct registers{};
  registers.rip = return_address.value - 1;
  registers.rsp = slot.value + 8;
  registers.rbp = base.value;
  auto rest = process_.unwinder_.unwind(
      registers, deadline_, CopyUnwinder::kMostFrames - stack_.frames.size());
  if (!rest) {
    return false;
  }
  rest->frames.front().pc = return_address;
  rest->frames.front().interrupted = false;
  return has_unwound(*rest) && append(*rest, 0, true);
}

// And on from there, or not at all.
bool GapCrosser::Crossing::append(const NativeStack& rest,
                                  std::size_t first,
                                  bool behind_gap) {
  const std::size_t before = stack_.frames.size();
  const NativeStack ended = {.baseless = stack_.baseless, .base = stack_.base};
  for (std::size_t i = first; i < rest.frames.size(); ++i) {
    stack_.frames.push_back(rest.frames[i]);
    stack_.frames.back().behind_gap |= behind_gap;
  }
  stack_.complete = rest.complete;
  stack_.baseless = rest.baseless;
  stack_.base = rest.base;
  if (rest.complete || go_on()) {
    return true;
  }
  stack_.frames.resize(before);
  stack_.baseless = ended.baseless;
  stack_.base = ended.base;
  return false;
}

// To the end (where most words are 0, a 0 is none), or to another gap; and no
// frame was called by an instruction that calls what has no unwind information.
bool GapCrosser::Crossing::has_unwound(const NativeStack& rest) {
  const NativeFrame& last = rest.frames.back();
  const bool ends = rest.complete && !rest.null_caller;
  const bool goes_on =
      (rest.untabled || rest.baseless) &&
      (last.interrupted || call_before(process_.memory_, last.pc));
  if (!ends && !goes_on) {
    return false;
  }
  const auto callers = std::min(rest.frames.size(), kStackGapMostLinks);
  for (std::size_t i = 1; i < callers; ++i) {
    if (rest.frames[i].interrupted) {
      continue;
    }
    const auto call = call_before(process_.memory_, rest.frames[i].pc);
    if (call && call->target && process_.is_untabled(call->target)) {
      return false;
    }
  }
  return true;
}

bool GapCrosser::Crossing::can_have_called(const NativeFrame& caller,
                                           const NativeFrame& callee) {
  const auto call = call_before(process_.memory_, caller.pc);
  const auto function = process_.unwinder_.function_at(callee.code());
  return call && function &&
         (!call->target ||
          behind_stub(process_.memory_, call->target) == function->start);
}

// What rbp may have been at the return address: what it is in the gap's frame,
// or a word of the gap that points to a frame further out. It is not known of a
// thread asleep, which is no matter for most code.
std::vector<Address> GapCrosser::Crossing::bases(Address first, Address slot) {
  std::vector<Address> bases = {stack_.base};
  const auto add = [&](Address base) {
    if (slot < base && base < copied_ && base.value % 8 == 0 &&
        call_before(process_.memory_, word(base + 8))) {
      bases.push_back(base);
    }
  };
  for (Address at = slot - 8; first <= at && bases.size() < kStackGapMostBases;
       at = at - 8) {
    add(word(at));
  }
  return bases;
}

// 0 where nothing was copied.
Address GapCrosser::Crossing::word(Address at) const {
  std::uint64_t word = 0;
  if (copy_.from <= at && at + sizeof word <= copied_) {
    std::memcpy(&word, copy_.bytes.data() + (at - copy_.from), sizeof word);
  }
  return Address{word};
}

// One of code with unwind information that can have called code without.
bool GapCrosser::is_return_address(Address word, Deadline deadline) {
  if (!is_in_module(word)) {
    return false;  // nearly all words
  }
  const auto known = return_addresses_.find(word);
  if (known != return_addresses_.end()) {
    return known->second;
  }
  const auto call = call_before(memory_, word);
  const bool is = call && unwinder_.function_at(word - 1) &&
                  can_lead_to_untabled(call->target, deadline);
  if (!deadline.expired()) {
    return_addresses_.emplace(word, is);
  }
  return is;
}

// Itself, or by functions that end in a jump to the next one.
bool GapCrosser::can_lead_to_untabled(Address code, Deadline deadline) {
  std::vector<AddressRange> functions;  // that are led to
  const auto leads_out = [&](Address to) {
    if (!to) {
      return true;  // it may be anywhere
    }
    const auto function = unwinder_.function_at(behind_stub(memory_, to));
    if (function && functions.size() < kMostFunctions &&
        std::ranges::find(functions, function->start, &AddressRange::start) ==
            functions.end()) {
      functions.push_back(*function);
    }
    return !function;
  };
  if (leads_out(code)) {
    return true;
  }
  for (std::size_t i = 0; i < functions.size(); ++i) {
    for (const Address to : jumps_out_of(memory_, functions[i])) {
      if (leads_out(to)) {
        return true;
      }
      if (deadline.expired()) {
        return false;
      }
    }
  }
  return false;
}

bool GapCrosser::is_untabled(Address code) {
  return !unwinder_.function_at(behind_stub(memory_, code));
}

bool GapCrosser::is_in_module(Address code) const {
  const auto after =
      std::ranges::upper_bound(text_, code, {}, &AddressRange::start);
  return after != text_.begin() && std::prev(after)->contains(code);
}

}  // namespace hangdbg
