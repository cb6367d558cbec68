#include "injector/stub/code_cave.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "injector/checks/thread_choice.h"

namespace hangdbg {
namespace {

constexpr std::uint64_t kSlackPageSize = 4096;

struct Marker {
  std::uint64_t magic = 0x6275747367646268ULL;  // "hbdgstub"
  std::uint32_t tid = 0;
  std::uint32_t unused = 0;

  bool is_ours() const { return magic == Marker{}.magic; }
};

Address round_up(Address address, std::uint64_t to) {
  return {(address.value + to - 1) / to * to};
}

std::vector<AddressRange> rooms(const AttachTarget& target,
                                std::size_t wanted) {
  std::vector<AddressRange> found;
  const auto look_at = [&](const Module& module) {
    const auto image = ElfImage::read(target.memory, module.base);
    if (!image || module.path == "[vdso]") {
      return;
    }
    for (const AddressRange& text : image->text()) {
      const AddressRange room{round_up(text.end, 16),
                              round_up(text.end, kSlackPageSize)};
      if (room.end - room.start >= wanted) {
        found.push_back(room);
      }
    }
  };
  // Any other module the program may unload under the stub's feet, or may have
  // unloaded since we looked. Python's own first: its pages are warm.
  look_at(target.modules[target.python.module]);
  look_at(target.modules[target.danger.pthread_module()]);
  return found;
}

}  // namespace

Result<CodeCave> CodeCave::write(const AttachTarget& target,
                                 const Fd& proc_mem,
                                 int tid,
                                 std::span<const std::byte> stub) {
  const std::size_t size = sizeof(Marker) + stub.size();
  const auto found = rooms(target, size);
  if (found.empty()) {
    return fail(ErrorId::NoRoom,
                "no room for the injection's code in the target");
  }
  for (const AddressRange& room : found) {
    CodeCave code_cave(room.start, proc_mem);
    code_cave.original_.resize(size);
    if (!target.memory.read(room.start, code_cave.original_)) {
      continue;
    }
    Marker marker;
    std::memcpy(&marker, code_cave.original_.data(), sizeof marker);
    if (marker.is_ours()) {
      // A stub whose injector died leaves within its deadline - unless its
      // thread was stopped meanwhile.
      if (may_be_inside(target, static_cast<int>(marker.tid), room)) {
        continue;
      }
      // What was there before is lost; zeros, in every build that was looked
      // at.
      std::ranges::fill(code_cave.original_, std::byte{0});
    }
    marker = Marker{};
    marker.tid = static_cast<std::uint32_t>(tid);
    code_cave.stub_ = room.start + sizeof marker;
    TRY(write_proc_mem(proc_mem, code_cave.stub_, stub));
    TRY(write_proc_mem(proc_mem, code_cave.at_,
                       std::as_bytes(std::span(&marker, 1))));
    return code_cave;
  }
  return fail(ErrorId::TimedOut,
              "another hangdbg has just died in the middle of its attach",
              "try again in a second");
}

Status CodeCave::restore() {
  return write_proc_mem(*proc_mem_, at_, original_);
}

Status write_proc_mem(const Fd& proc_mem,
                      Address to,
                      std::span<const std::byte> bytes) {
  const ssize_t put = ::pwrite(proc_mem.get(), bytes.data(), bytes.size(),
                               static_cast<off_t>(to.value));
  if (put != static_cast<ssize_t>(bytes.size())) {
    return fail_errno(
        fmt::format("cannot write {} bytes at {:#x} of the target",
                    bytes.size(), to.value));
  }
  return {};
}

}  // namespace hangdbg
