#include "inspector/stack_gap.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "inspector/call_site_x86_64.h"
#include "inspector/stack_copy.h"

namespace hangdbg {
namespace {

// How much of a stack functions without unwind information may take together.
constexpr std::uint64_t kMostOfGap = 1U << 16;

// At a call the stack is aligned so, and the return address lies below.
constexpr std::uint64_t kAlignment = 16;

// For one stack.
constexpr int kMostTries = 1000;

// Frame pointers that are tried for one return address.
constexpr std::size_t kMostBases = 8;

// Callers whose calls are looked at.
constexpr std::size_t kMostLinks = 16;

// Functions that end in a jump to the next one.
constexpr int kMostJumps = 3;

class Crossing {
 public:
  Crossing(NativeStack& stack,
           const StackCopy& copy,
           const MemoryReader& memory,
           const std::vector<Module>& modules,
           NativeUnwinder& unwinder,
           Deadline deadline)
      : stack_(stack),
        copy_(copy),
        copied_(copy.from + copy.bytes.size()),
        memory_(memory),
        modules_(modules),
        unwinder_(unwinder),
        deadline_(deadline) {}

  // From the last frame to the stack's end, over further gaps. Where it fails
  // the stack is as it was.
  bool go_on();

 private:
  bool go_on_from(Address slot, Address return_address, Address base);
  bool has_unwound(const NativeStack& rest);
  bool is_return_address(Address word);
  bool can_lead_to_untabled(Address code, int jumps);
  bool is_untabled(Address code);
  std::vector<Address> bases(Address first, Address slot);
  bool is_in_module(Address code) const;
  Address word(Address at) const;

  NativeStack& stack_;
  const StackCopy& copy_;
  const Address copied_;  // up to here
  const MemoryReader& memory_;
  const std::vector<Module>& modules_;
  NativeUnwinder& unwinder_;
  const Deadline deadline_;
  int tries_ = 0;
  std::map<Address, bool> return_addresses_;  // that were looked at
};

bool Crossing::go_on() {
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
    if (!is_return_address(return_address)) {
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
bool Crossing::go_on_from(Address slot, Address return_address, Address base) {
  user_regs_struct registers{};
  registers.rip = return_address.value - 1;
  registers.rsp = slot.value + 8;
  registers.rbp = base.value;
  const std::size_t before = stack_.frames.size();
  const Address base_before = stack_.base;
  auto rest = unwinder_.unwind(registers, deadline_,
                               CopyUnwinder::kMostFrames - before);
  if (!rest) {
    return false;
  }
  rest->frames.front().pc = return_address;
  rest->frames.front().interrupted = false;
  if (!has_unwound(*rest)) {
    return false;
  }
  for (NativeFrame& frame : rest->frames) {
    frame.behind_gap = true;
    stack_.frames.push_back(frame);
  }
  stack_.complete = rest->complete;
  stack_.base = rest->base;
  if (rest->complete || go_on()) {
    return true;
  }
  stack_.frames.resize(before);
  stack_.base = base_before;
  return false;
}

// To the end, or to another gap; and no frame was called by an instruction that
// calls what has no unwind information.
bool Crossing::has_unwound(const NativeStack& rest) {
  const NativeFrame& last = rest.frames.back();
  if (!rest.complete &&
      !(rest.untabled && (last.interrupted || call_before(memory_, last.pc)))) {
    return false;
  }
  const auto callers = std::min(rest.frames.size(), kMostLinks);
  for (std::size_t i = 1; i < callers; ++i) {
    if (rest.frames[i].interrupted) {
      continue;
    }
    const auto call = call_before(memory_, rest.frames[i].pc);
    if (call && call->target && is_untabled(call->target)) {
      return false;
    }
  }
  return true;
}

// One of code with unwind information that can have called code without.
bool Crossing::is_return_address(Address word) {
  if (!is_in_module(word)) {
    return false;  // nearly all words
  }
  const auto [at, is_new] = return_addresses_.try_emplace(word);
  if (is_new) {
    const auto call = call_before(memory_, word);
    at->second = call && unwinder_.function_at(word - 1) &&
                 can_lead_to_untabled(call->target, kMostJumps);
  }
  return at->second;
}

bool Crossing::can_lead_to_untabled(Address code, int jumps) {
  if (!code) {
    return true;
  }
  code = behind_stub(memory_, code);
  const auto function = unwinder_.function_at(code);
  return !function ||
         (jumps > 0 && std::ranges::any_of(
                           jumps_out_of(memory_, *function), [&](Address out) {
                             return can_lead_to_untabled(out, jumps - 1);
                           }));
}

bool Crossing::is_untabled(Address code) {
  return !unwinder_.function_at(behind_stub(memory_, code));
}

// What rbp may have been at the return address: what it is in the gap's frame,
// or a word of the gap that points to a frame further out. It is not known of a
// thread asleep, which is no matter for most code.
std::vector<Address> Crossing::bases(Address first, Address slot) {
  std::vector<Address> bases = {stack_.base};
  const auto add = [&](Address base) {
    if (slot < base && base < copied_ && base.value % 8 == 0 &&
        call_before(memory_, word(base + 8))) {
      bases.push_back(base);
    }
  };
  for (Address at = slot - 8; first <= at && bases.size() < kMostBases;
       at = at - 8) {
    add(word(at));
  }
  return bases;
}

bool Crossing::is_in_module(Address code) const {
  return std::ranges::any_of(modules_, [&](const Module& module) {
    return module.contains(code) &&
           std::ranges::any_of(module.segments, [&](const Mapping& segment) {
             return segment.executable && segment.contains(code);
           });
  });
}

// 0 where nothing was copied.
Address Crossing::word(Address at) const {
  std::uint64_t word = 0;
  if (copy_.from <= at && at + sizeof word <= copied_) {
    std::memcpy(&word, copy_.bytes.data() + (at - copy_.from), sizeof word);
  }
  return Address{word};
}

}  // namespace

void cross_gaps(NativeStack& stack,
                const StackCopy& copy,
                const MemoryReader& memory,
                const std::vector<Module>& modules,
                NativeUnwinder& unwinder,
                Deadline deadline) {
  Crossing(stack, copy, memory, modules, unwinder, deadline).go_on();
}

}  // namespace hangdbg
