#include "inspector/cpython/runtime/scanned_python.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "inspector/cpython/layout/object_layout.h"
#include "inspector/cpython/layout/told_objects.h"
#include "inspector/cpython/runtime/frame_chain.h"
#include "inspector/cpython/runtime/proved_layout.h"

namespace hangdbg {
namespace {

constexpr std::uint64_t kMaxSegment = 1U << 28;
constexpr int kScannedPythonMaxInterpreters = 64;
constexpr int kScannedPythonMaxThreads = 64;  // that are searched for a frame
constexpr std::size_t kMaxTypeName = 8;
constexpr std::size_t kMaxVersion = 16;
constexpr std::string_view kCookie = "xdebugpy";

struct Bytes {
  Address start;
  std::vector<char> bytes;

  std::string_view text() const { return {bytes.data(), bytes.size()}; }
  Address word(std::size_t at) const {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return Address{value};
  }
};

std::optional<Bytes> read_bytes(const MemoryReader& memory,
                                AddressRange range) {
  range.start.value = (range.start.value + 7) & ~7ULL;
  Bytes read{range.start, {}};
  if (range.end - range.start > kMaxSegment) {
    return {};
  }
  read.bytes.resize(range.end - range.start);
  return memory.read(range.start, std::as_writable_bytes(std::span(read.bytes)))
             ? std::optional(std::move(read))
             : std::nullopt;
}

// Texts that end with the like of "3.11.7": PY_VERSION (which the linker may
// have put at the end of another one), and what other libraries have of that
// look.
std::vector<PythonVersion> versions_in(const MemoryReader& memory,
                                       const Module& module) {
  constexpr std::string_view kMajor = "3.";
  std::vector<PythonVersion> found;
  for (const Mapping& segment : module.segments) {
    const auto bytes = segment.readable && !segment.writable
                           ? read_bytes(memory, {segment.start, segment.end})
                           : std::nullopt;
    if (!bytes) {
      continue;
    }
    const std::string_view text = bytes->text();
    for (auto at = text.find(kMajor); at != text.npos;
         at = text.find(kMajor, at + 1)) {
      const auto rest = text.substr(at + kMajor.size(), kMaxVersion);
      const auto parts = split(rest.substr(0, rest.find('\0')), '.');
      const auto minor = parse_number<int>(parts[0]);
      const auto micro =
          parts.size() == 2 ? parse_number<int>(parts[1]) : std::nullopt;
      if (minor && micro && generated_layout(*minor) != nullptr) {
        found.push_back({3, *minor, micro});
      }
    }
  }
  return found;
}

// The type of code objects, by the frames of that interpreter's threads.
std::optional<Address> code_type(const MemoryReader& memory,
                                 const CPythonLayout& at,
                                 const ObjectLayout& objects,
                                 Address interpreter) {
  auto thread = memory.read_address(interpreter + at.interpreter_threads_head);
  for (int i = 0; thread && *thread && i < kScannedPythonMaxThreads; ++i) {
    const auto owner = memory.read_address(*thread + at.thread_interpreter);
    if (!owner || *owner != interpreter) {
      break;
    }
    const auto chain = read_frame_chain(memory, at, *thread, 1);
    if (chain && !chain->frames.empty()) {
      const Address type = chain->codes.at(chain->frames.front().code).type;
      const auto name = memory.read_address(type + objects.type_name);
      const auto text = name ? memory.read_string(*name, kMaxTypeName)
                             : fail(ErrorId::Unreadable, "no type");
      if (text && *text == "code") {
        return type;
      }
    }
    thread = memory.read_address(*thread + at.thread_next);
  }
  return {};
}

bool may_be_pointer(Address word) {
  return word.value > 0x10000 && word.value < 1ULL << 47 && word.value % 8 == 0;
}

// A PyInterpreterState of 3.6, with a thread that points back and with modules.
bool is_interpreter_36(const MemoryReader& memory, Address interpreter) {
  const CPythonLayout& at = *generated_layout(6);
  const ObjectLayout& objects = *object_layout(6, false);
  const auto pointer = [&](Address from) {
    return memory.read_address(from).value_or(Address{});
  };
  const Address thread = pointer(interpreter + at.interpreter_threads_head);
  if (!may_be_pointer(thread) ||
      pointer(thread + at.thread_interpreter) != interpreter) {
    return false;
  }
  const Address modules = pointer(interpreter + objects.interpreter_modules);
  const auto name = memory.read_string(
      pointer(pointer(modules + at.object_type) + objects.type_name),
      kMaxTypeName);
  return name && *name == "dict";
}

// How many there are from this one to main, which is the last; 0 if it is none.
int interpreters_from(const MemoryReader& memory, Address interpreter) {
  int count = 0;
  while (interpreter) {
    const auto next = memory.read_address(
        interpreter + generated_layout(6)->interpreter_next);
    if (!next || ++count > kScannedPythonMaxInterpreters ||
        !is_interpreter_36(memory, interpreter)) {
      return 0;
    }
    interpreter = *next;
  }
  return count;
}

struct Scan {
  const MemoryReader& memory;
  PythonRuntime found;

  // Whether there is a _PyRuntime, whose layout is known.
  bool is_runtime(Address runtime, Address main) {
    const ObjectLayout* const objects =
        object_layout(found.version.minor, found.free_threaded);
    const auto type = objects != nullptr
                          ? code_type(memory, found.layout, *objects, main)
                          : std::nullopt;
    if (!type) {
      return false;
    }
    found.runtime = runtime;
    found.code_type = *type;
    return true;
  }

  // From 3.13 on.
  bool by_cookie(const Bytes& data) {
    for (auto at = data.text().find(kCookie); at != std::string_view::npos;
         at = data.text().find(kCookie, at + 1)) {
      const Address runtime = data.start + at;
      const auto offsets = read_debug_offsets(memory, runtime);
      if (!offsets) {
        if (is_proved(runtime)) {
          return true;
        }
        continue;
      }
      found.layout = offsets->layout;
      found.free_threaded = offsets->free_threaded;
      const ObjectLayout* const row =
          object_layout(offsets->layout.minor, offsets->free_threaded);
      auto told = row != nullptr ? with_told_offsets(memory, runtime, *row)
                                 : fail(ErrorId::UnsupportedPython, "no row");
      if (!told) {
        continue;
      }
      found.objects = *std::move(told);
      found.version = {3, offsets->layout.minor,
                       static_cast<int>(offsets->version >> 8 & 0xff)};
      const auto main =
          memory.read_address(runtime + found.layout.runtime_interpreters_main);
      if (main && is_runtime(runtime, *main)) {
        return true;
      }
    }
    return false;
  }

  // A newer version than we know.
  bool is_proved(Address runtime) {
    auto proved = prove_layout(memory, runtime, {});
    if (!proved) {
      return false;
    }
    found.runtime = runtime;
    found.layout = proved->layout;
    found.objects = proved->objects;
    found.code_type = proved->code_type;
    found.free_threaded = proved->free_threaded;
    found.version = {3, proved->layout.minor,
                     static_cast<int>(proved->version >> 8 & 0xff)};
    found.unknown = true;
    found.unproved = std::move(proved->unproved);
    return true;
  }

  // 3.6: `head` is the newest's.
  bool by_head(Address head, const PythonVersion& version) {
    found.layout = *generated_layout(version.minor);
    found.version = version;
    auto interpreter = memory.read_address(head);
    for (int i = 0;
         interpreter && *interpreter && i < kScannedPythonMaxInterpreters;
         ++i) {
      if (is_runtime(head, *interpreter)) {
        return true;
      }
      interpreter =
          memory.read_address(*interpreter + found.layout.interpreter_next);
    }
    return false;
  }

  // Two words that are both an interpreter's address: the newest, and main.
  bool by_shape(const Bytes& data, const PythonVersion& version) {
    const CPythonLayout* const layout = generated_layout(version.minor);
    if (layout->runtime_interpreters_main == CPythonLayout::kAbsent) {
      return false;
    }
    found.layout = *layout;
    found.version = version;
    for (std::size_t at = 0; at + 16 <= data.bytes.size(); at += 8) {
      const Address main = data.word(at + 8);
      if (!may_be_pointer(data.word(at)) || !may_be_pointer(main) ||
          at < layout->runtime_interpreters_head) {
        continue;
      }
      const auto id =
          memory.read_value<std::int64_t>(main + layout->interpreter_id);
      const Address runtime =
          data.start + at - layout->runtime_interpreters_head;
      const auto initialized = memory.read_value<std::int32_t>(
          runtime + layout->runtime_initialized);
      if (id && *id == 0 && initialized && *initialized == 1 &&
          leads_to(data.word(at), main) && is_runtime(runtime, main)) {
        return true;
      }
    }
    return false;
  }

  // Along the list of interpreters, the newest first, main at its end.
  bool leads_to(Address interpreter, Address main) const {
    for (int i = 0; interpreter != main; ++i) {
      const auto next =
          memory.read_address(interpreter + found.layout.interpreter_next);
      if (!next || i == kScannedPythonMaxInterpreters) {
        return false;
      }
      interpreter = *next;
    }
    return true;
  }
};

}  // namespace

// Other variables have the main one, which the list ends with: the word that
// leads to the most.
std::optional<Address> scan_for_interpreters(const MemoryReader& memory,
                                             const ElfImage& image) {
  std::optional<Address> head;
  int most = 0;
  for (const AddressRange& range : image.variables()) {
    const auto data = read_bytes(memory, range);
    for (std::size_t at = 0; data && at + 8 <= data->bytes.size(); at += 8) {
      const Address word = data->word(at);
      // They are on the heap; the rest is mostly the module's own.
      const int count = may_be_pointer(word) && !image.whole().contains(word)
                            ? interpreters_from(memory, word)
                            : 0;
      if (count > most) {
        most = count;
        head = data->start + at;
      }
    }
  }
  return head;
}

std::optional<PythonRuntime> scan_for_python(const MemoryReader& memory,
                                             const Module& module,
                                             const ElfImage& image) {
  const auto versions = versions_in(memory, module);
  Scan scan{memory, {}};
  scan.found.image = image;
  const auto old = std::ranges::find(versions, 6, &PythonVersion::minor);
  if (old != versions.end()) {
    const auto head = scan_for_interpreters(memory, image);
    if (head && scan.by_head(*head, *old)) {
      return std::move(scan.found);
    }
  }
  for (const AddressRange& range : image.variables()) {
    const auto data = read_bytes(memory, range);
    if (data && (scan.by_cookie(*data) ||
                 std::ranges::any_of(versions, [&](const auto& version) {
                   return scan.by_shape(*data, version);
                 }))) {
      return std::move(scan.found);
    }
  }
  return {};
}

}  // namespace hangdbg
