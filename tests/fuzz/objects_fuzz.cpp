// Objects in memory that lies: whatever their types and words say, the text of
// one, the locals of a frame, what a name means, the rings of the garbage
// collector and the frames of a greenlet come to an end.
//
// The memory is the input, over and over, at all addresses but those whose
// highest byte is odd: there lies a type, one of each kind, so that half of
// all words are pointers to types.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "inspector/cpython/async/greenlet_memory.h"
#include "inspector/cpython/expressions/expression.h"
#include "inspector/cpython/expressions/peek.h"
#include "inspector/cpython/layout/layout.h"
#include "inspector/cpython/layout/object_layout.h"
#include "inspector/cpython/objects/object_reader.h"
#include "inspector/cpython/objects/repr.h"
#include "inspector/cpython/objects/tracked.h"
#include "inspector/cpython/stacks/python_locals.h"
#include "inspector/cpython/stacks/thread_names.h"

namespace hangdbg {
namespace {

constexpr std::uint64_t kReads = 20'000;  // for a few thousand inputs a minute
constexpr std::size_t kTracked = 100;
constexpr std::size_t kFrames = 100;
constexpr std::uint64_t kTypeSize = 2048;
constexpr std::uint64_t kName = 1024;  // in a type
constexpr const char* kTypes[] = {"NoneType",
                                  "bool",
                                  "int",
                                  "float",
                                  "complex",
                                  "str",
                                  "bytes",
                                  "bytearray",
                                  "tuple",
                                  "list",
                                  "dict",
                                  "collections.OrderedDict",
                                  "collections.defaultdict",
                                  "set",
                                  "frozenset",
                                  "collections.deque",
                                  "range",
                                  "slice",
                                  "mappingproxy",
                                  "types.SimpleNamespace",
                                  "function",
                                  "method",
                                  "builtin_function_or_method",
                                  "method_descriptor",
                                  "member_descriptor",
                                  "property",
                                  "module",
                                  "type",
                                  "code",
                                  "cell",
                                  "generator",
                                  "BaseException",
                                  "weakref",
                                  "_thread.lock",
                                  "_thread.RLock",
                                  "numpy.ndarray",
                                  "torch._C.TensorBase",
                                  "object",
                                  "Point",
                                  "Color",
                                  "EnumType",
                                  "Counter",
                                  "frame"};

// Py_TPFLAGS_..._SUBCLASS and Py_TPFLAGS_HEAPTYPE by the name of the type.
std::uint64_t flags_of(std::string_view name) {
  constexpr std::pair<std::string_view, int> kBits[] = {
      {"int", 24},   {"bool", 24},          {"list", 25},    {"tuple", 26},
      {"bytes", 27}, {"str", 28},           {"dict", 29},    {"Counter", 29},
      {"type", 31},  {"BaseException", 30}, {"EnumType", 31}};
  std::uint64_t flags = 0;
  for (const auto& [of, bit] : kBits) {
    flags |= of == name ? std::uint64_t{1} << bit : 0;
  }
  // Classes in Python, with each way to keep their attributes.
  const bool in_python = name == "Point" || name == "Color" ||
                         name == "EnumType" || name == "Counter";
  return flags | (in_python ? 1U << 9 | 1U << 4 | 1U << 2 : 0);
}

class LyingMemory final : public MemoryReader {
 public:
  LyingMemory(std::span<const std::uint8_t> data, const ObjectLayout& at)
      : data_(data), at_(at) {}

  Status read(Address from, std::span<std::byte> out) const override {
    if (!is_type(from.value)) {
      std::size_t place = from.value % data_.size();
      for (std::byte& byte : out) {
        byte = std::byte{data_[place]};
        place = place + 1 == data_.size() ? 0 : place + 1;
      }
      return {};
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = std::byte{byte_of_type(from.value + i)};
    }
    return {};
  }

 private:
  static bool is_type(std::uint64_t address) {
    return (address >> 56 & 1) != 0;
  }

  std::uint8_t byte_of_type(std::uint64_t address) const {
    const std::uint64_t number = (address >> 16) % std::size(kTypes);
    const std::uint64_t offset = address % 65536;
    const std::string_view name = kTypes[number];
    const auto word = [&](std::uint32_t at, std::uint64_t value) {
      return offset >= at && offset < at + 8
                 ? std::optional(
                       static_cast<std::uint8_t>(value >> (offset - at) * 8))
                 : std::nullopt;
    };
    if (const auto byte = word(at_.type_name, (address & ~0xffffULL) + kName)) {
      return *byte;
    }
    if (const auto byte = word(at_.type_flags, flags_of(name))) {
      return *byte;
    }
    if (offset >= kName && offset < kTypeSize) {
      return offset - kName < name.size()
                 ? static_cast<std::uint8_t>(name[offset - kName])
                 : 0;
    }
    return data_[offset % data_.size()];
  }

  std::span<const std::uint8_t> data_;
  const ObjectLayout& at_;
};

void read_all(std::span<const std::uint8_t> data, int minor, bool threaded) {
  PythonRuntime python;
  python.version.minor = minor;
  python.free_threaded = threaded;
  const ObjectLayout& at = *object_layout(minor, threaded);
  python.layout = *generated_layout(std::min(minor, 12));
  python.layout.object_type = at.object_size - 8;
  const LyingMemory memory(data, at);
  const auto heap = ObjectReader::open(memory, python);
  const Address object{std::uint64_t{data[0]} << 3};
  const std::string text = repr(*heap, object, {.depth = 5});
  if (text.empty() || text.size() > 10'000) {
    std::abort();
  }
  (void)read_thread_names(*heap, python);
  heap->allow_reads();
  PythonFrame frame;
  frame.address = object;
  frame.code = *heap->pointer(object + python.layout.frame_code);
  frame.code.value &= ~std::uint64_t{3};  // a tagged pointer
  (void)read_locals(*heap, frame.address, frame.code);
  std::size_t met = 0;
  (void)each_tracked(memory, *heap, python, object,
                     {kTracked, Deadline::in(std::chrono::seconds(10))},
                     [&](Address, Address) { ++met; });
  if (met > kTracked) {
    std::abort();
  }
  heap->allow_reads();
  if (const auto type = heap->type_of(object)) {
    if (const auto words = read_greenlet_words(memory, *heap, **type, object)) {
      (void)read_greenlet_frames(memory, *heap, *words, kFrames);
    }
  }
  for (const char* expression :
       {"a.b", "a[1]", "a['k']", "a[1:3]", "len(a)", "1 in a", "a == 'x'"}) {
    heap->allow_reads(kReads);
    (void)peek(*heap, frame, *parse_expression(expression), {});
  }
}

}  // namespace
}  // namespace hangdbg

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size < 10) {
    return 0;
  }
  const int minor = 6 + data[0] % 9;
  const bool free_threaded = minor >= 13 && data[1] % 2 == 1;
  const std::span rest(data + 2, size - 2);
  hangdbg::read_all(rest, minor, free_threaded);
  // What peek understands is made of bytes from outside too.
  const auto* const text = reinterpret_cast<const char*>(rest.data());
  (void)hangdbg::parse_expression({text, rest.size()});
  return 0;
}
