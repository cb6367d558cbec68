// Of an interpreter that is not known: its threads' frames, which code they
// run, and where.
#include <algorithm>
#include <string_view>

#include "inspector/cpython/runtime/proof.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostChain = 1000;
constexpr std::size_t kMostThreadsAsked = 64;
constexpr std::size_t kMostCodes = 64;
constexpr std::int32_t kMostCopies = 4096;
constexpr std::uint8_t kOwnedByC = 3;    // enum _frameowner: from this one on
constexpr std::uint8_t kMostOwner = 16;  // of whatever it will have

bool is_code_object(Proof& proof, Address object) {
  if (proof.code_type) {
    const auto type =
        proof.pointer(object + proof.word(proof.groups.object + 1));
    return type && *type == proof.code_type;
  }
  return proof.type_name(object) == "code";
}

// Frames from `first` on. None: they are none.
std::optional<std::vector<SeenFrame>> chain_from(Proof& proof,
                                                 Address first,
                                                 std::uint64_t previous,
                                                 std::uint64_t executable) {
  std::vector<SeenFrame> found;
  for (Address next = first; next && found.size() < kMostChain;) {
    const auto before = proof.pointer(next + previous);
    const auto held = proof.pointer(next + executable);
    if (next.value % 8 != 0 || !before || !held) {
      return {};
    }
    const Address object{held->value & ~std::uint64_t{7}};
    if (object && is_code_object(proof, object)) {
      found.push_back({next, object});
    } else if (!object || proof.type_name(object) == "NoneType") {
      found.push_back({next, {}});
    } else {
      return {};
    }
    next = *before;
  }
  return found;
}

// Of all threads, by these three words. One that runs meanwhile may be torn: of
// most of them each chain must hold.
std::optional<std::vector<SeenFrame>> frames_by(Proof& proof,
                                                std::size_t current,
                                                std::size_t previous,
                                                std::size_t executable) {
  std::vector<SeenFrame> found;
  const std::size_t asked = std::min(proof.threads.size(), kMostThreadsAsked);
  std::size_t torn = 0;
  for (std::size_t i = 0; i < asked && torn * 2 <= asked; ++i) {
    const auto first = proof.pointer(proof.threads[i] + proof.word(current));
    const auto chain = first ? chain_from(proof, *first, proof.word(previous),
                                          proof.word(executable))
                             : std::nullopt;
    if (chain) {
      found.insert(found.end(), chain->begin(), chain->end());
    } else {
      ++torn;
    }
  }
  return torn * 2 <= asked && torn < asked ? std::optional(std::move(found))
                                           : std::nullopt;
}

// Whether it holds of frames with code, and of those without: of nearly all,
// as of a thread that runs some may be torn.
template <class Holds>
bool hold(const std::vector<SeenFrame>& frames, bool code, const Holds& holds) {
  std::size_t good = 0, all = 0;
  for (const SeenFrame& frame : frames) {
    if (static_cast<bool>(frame.code) == code) {
      ++all;
      good += holds(frame) ? 1 : 0;
    }
  }
  return good > 0 && good * 4 >= all * 3;
}

std::size_t count_code(const std::vector<SeenFrame>& frames) {
  return static_cast<std::size_t>(std::ranges::count_if(
      frames,
      [](const SeenFrame& frame) { return static_cast<bool>(frame.code); }));
}

}  // namespace

bool Proof::find_frames() {
  std::size_t most = 0;
  for (std::size_t current = groups.thread + 4; current < groups.frame;
       ++current) {
    if (!is_pointer_in(groups.thread, current)) {
      continue;
    }
    for (std::size_t previous = groups.frame + 1; previous < groups.locals;
         ++previous) {
      for (std::size_t executable = previous + 1; executable < groups.locals;
           ++executable) {
        if (!is_pointer_in(groups.frame, previous) ||
            !is_pointer_in(groups.frame, executable)) {
          continue;
        }
        auto found = frames_by(*this, current, previous, executable);
        // A word that is 0 in all of them makes chains of one.
        if (found && count_code(*found) > 0 && found->size() > most) {
          most = found->size();
          frames = *std::move(found);
          at.thread_frame = offset(current);
          at.frame_previous = offset(previous);
          at.frame_code = offset(executable);
        }
      }
    }
    // Later ones lead to a chain's end, or to what was there some time ago.
    if (most > 0) {
      break;
    }
  }
  for (const SeenFrame& frame : frames) {
    if (frame.code && codes.size() < kMostCodes &&
        std::ranges::find(codes, frame.code) == codes.end()) {
      codes.push_back(frame.code);
    }
  }
  if (!code_type && !codes.empty()) {
    code_type =
        pointer(codes.front() + word(groups.object + 1)).value_or(Address{});
  }
  return !codes.empty() && static_cast<bool>(code_type);
}

// instr_ptr is in the bytecode, or (free-threaded) in the thread's copy of it;
// the owner tells the interpreter's own frames from the others.
bool Proof::find_instructions() {
  at.code_instructions = offset(groups.instructions);
  at.frame_position_size = 8;
  const auto start_of = [&](const SeenFrame& frame, std::size_t copies,
                            std::size_t index) -> std::optional<Address> {
    if (copies == 0) {
      return frame.code + word(groups.instructions);
    }
    const auto all = pointer(frame.code + word(copies));
    const auto number = value<std::int32_t>(frame.frame + word(index));
    const bool fits =
        all && *all && number && *number >= 0 && *number < kMostCopies;
    return fits ? pointer(*all + 8 + static_cast<std::uint64_t>(*number) * 8)
                : std::nullopt;
  };
  const auto are_inside = [&](std::size_t position, std::size_t copies,
                              std::size_t index) {
    return hold(frames, /*code=*/true, [&](const SeenFrame& frame) {
      const auto now = pointer(frame.frame + word(position));
      const auto start = start_of(frame, copies, index);
      const auto units = units_of(frame.code);
      return now && start && *start && units && *now >= *start &&
             *now - *start < *units * 2;
    });
  };
  // Of code that has no copies.
  const auto is_inside = [&](const SeenFrame& frame, std::uint32_t position) {
    const auto now = pointer(frame.frame + position);
    const Address start = frame.code + word(groups.instructions);
    const auto units = units_of(frame.code);
    return now && units && *now >= start && *now - start < *units * 2;
  };
  const auto accept = [&](std::size_t copies, std::size_t index) {
    for (std::size_t i = groups.frame + 1; i < groups.locals; ++i) {
      if (is_pointer_in(groups.frame, i) && are_inside(i, copies, index)) {
        at.frame_position = offset(i);
        if (copies != 0) {
          at.code_bytecodes = offset(copies);
          at.frame_bytecode_index = offset(index);
        }
        return true;
      }
    }
    return false;
  };
  bool found = !table.free_threaded && accept(0, 0);
  for (std::size_t copies = groups.instructions + 1;
       table.free_threaded && !found && copies < groups.object; ++copies) {
    for (std::size_t index = groups.locals + 1; !found && index < groups.code;
         ++index) {
      found = word(copies) != 0 && is_pointer_in(groups.code, copies) &&
              word(index) != 0 && word(index) + 4 <= word(groups.frame) &&
              accept(copies, index);
    }
  }
  // 3.13t has no copies. Main's frames alone would show none elsewhere, either.
  if (!found && table.free_threaded) {
    found = accept(0, 0) &&
            std::ranges::all_of(frames, [&](const SeenFrame& frame) {
              return !frame.code || is_inside(frame, at.frame_position);
            });
  }
  if (!found) {
    return false;
  }

  for (std::size_t i = groups.locals + 1; i < groups.code; ++i) {
    const auto tells = [&](const SeenFrame& frame) {
      const auto owner = value<std::uint8_t>(frame.frame + word(i));
      return owner && *owner < kMostOwner &&
             (*owner < kOwnedByC) == static_cast<bool>(frame.code);
    };
    if (word(i) < word(groups.frame) && hold(frames, true, tells) &&
        hold(frames, false, tells)) {
      at.frame_owner = offset(i);
      at.frame_owner_c_stack = kOwnedByC;
      break;
    }
  }
  return at.frame_owner != CPythonLayout::kAbsent;
}

}  // namespace hangdbg
