// Objects of CPython 3.11 that a test makes up in its own memory, as far as the
// diagnosis reads them: classes, locks, and frames with variables.
#pragma once

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "inspector/cpython/layout/layout.h"
#include "inspector/cpython/layout/object_layout.h"
#include "inspector/cpython/stacks/python_stack.h"

namespace hangdbg {

class MadeUpObjects {
 public:
  // An object of a class of that name; a class of a C module has a dot.
  Address of_class(const std::string& name, std::uint64_t size = 64) {
    const Address object = block();
    put(object + layout_.object_type, type(name, 0, size).value);
    return object;
  }

  // Held, unless the owner is `nobody`: an RLock by that thread's ident.
  struct MadeUpLock {
    Address object;
    Address word;  // which futex(2) is given
  };
  MadeUpLock lock() {
    const MadeUpLock made = make_lock("_thread.lock", 24);
    put(made.object + at_.object_size + 16, 1);
    return made;
  }
  MadeUpLock rlock(std::uint64_t owner, std::uint64_t count = 1) {
    const MadeUpLock made = make_lock("_thread.RLock", 32);
    put(made.object + at_.object_size + 8, owner);
    put(made.object + at_.object_size + 16, count);
    return made;
  }

  // PySocketSockObject, with that descriptor.
  Address socket(int fd) {
    const Address object = of_class("_socket.socket");
    put(object + at_.object_size, static_cast<std::uint32_t>(fd));
    return object;
  }

  // SemLockObject of multiprocessing, whose semaphore lies at `handle`.
  Address semlock(Address handle, int count, int most, std::uint64_t last = 0) {
    const Address object = of_class("_multiprocessing.SemLock");
    const Address place = object + at_.object_size;
    put(place, handle.value);
    put(place + 8, last);
    put(place + 16, static_cast<std::uint32_t>(count) |
                        static_cast<std::uint64_t>(most) << 32);
    return object;
  }

  // That function has these variables now.
  void give(PythonFrame& frame,
            const std::vector<std::pair<std::string, Address>>& variables) {
    std::vector<Address> names;
    frame.address = block();
    frame.code = block();
    put(frame.address + layout_.frame_code, frame.code.value);
    put(frame.address + at_.frame_locals, 0);
    put(frame.address + at_.frame_globals, block().value);
    put(frame.code + at_.code_flags, 1);  // CO_OPTIMIZED
    for (std::size_t i = 0; i < variables.size(); ++i) {
      names.push_back(str(variables[i].first));
      put(frame.address + at_.frame_values + i * 8, variables[i].second.value);
    }
    put(frame.code + at_.code_names, tuple(names).value);
    put(frame.code + at_.code_kinds, block().value);
  }

  // Its function, which has variables, is in a `with` of that: its value is the
  // only one on the stack, and one handler covers all of it.
  void in_with(const PythonFrame& frame, Address value) {
    constexpr std::string_view kEntry("\0\x3f\0\x02", 4);  // depth 1
    const Address table = block();
    put(table + layout_.bytes_size, kEntry.size());
    text(table + layout_.bytes_data, kEntry);
    put(frame.code + (at_.code_flags - 8), table.value);
    const std::uint64_t names =
        word(Address{word(frame.code + at_.code_names)} + at_.size);
    put(frame.address + at_.frame_values + names * 8, value.value);
  }

 private:
  Address block() {
    constexpr std::size_t kEnough = 1024;
    blocks_.push_back(std::make_unique<std::byte[]>(kEnough));
    return Address{reinterpret_cast<std::uintptr_t>(blocks_.back().get())};
  }
  static void put(Address at, std::uint64_t value) {
    std::memcpy(reinterpret_cast<void*>(at.value), &value, sizeof value);
  }
  static std::uint64_t word(Address at) {
    std::uint64_t value = 0;
    std::memcpy(&value, reinterpret_cast<void*>(at.value), sizeof value);
    return value;
  }
  static Address text(Address at, std::string_view what) {
    std::memcpy(reinterpret_cast<void*>(at.value), what.data(), what.size());
    return at;
  }

  Address type(const std::string& name,
               std::uint64_t flags,
               std::uint64_t size) {
    const auto [known, fresh] = types_.try_emplace(name);
    if (fresh) {
      known->second = block();
      put(known->second + at_.type_name, text(block(), name).value);
      put(known->second + at_.type_flags, flags);
      put(known->second + at_.type_basic_size, size);
    }
    return known->second;
  }
  MadeUpLock make_lock(const std::string& name, std::uint64_t size) {
    const MadeUpLock made{of_class(name, at_.object_size + size), block() + 64};
    put(made.object + at_.object_size, made.word.value);
    return made;
  }
  Address str(std::string_view what) {
    constexpr std::uint64_t kAscii = 1 | 1 << 3 | 1 << 4;  // 1 byte, compact
    const Address object = block();
    put(object + layout_.object_type, type("str", 1ULL << 28, 49).value);
    put(object + layout_.str_length, what.size());
    put(object + layout_.str_state, kAscii << layout_.str_kind_shift);
    text(object + layout_.str_ascii_data, what);
    return object;
  }
  Address tuple(const std::vector<Address>& items) {
    const Address object = block();
    put(object + layout_.object_type, type("tuple", 1ULL << 26, 24).value);
    put(object + at_.size, items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      put(object + at_.tuple_items + i * 8, items[i].value);
    }
    return object;
  }

  const CPythonLayout& layout_ = *generated_layout(11);
  const ObjectLayout& at_ = *object_layout(11, false);
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::map<std::string, Address> types_;
};

}  // namespace hangdbg
