#include "inspector/cpython/objects/arrays.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>

#include "inspector/cpython/objects/numbers.h"

namespace hangdbg {
namespace {

constexpr std::size_t kMostDimensions = 64;

// ---- numpy: PyArrayObject_fields behind the object's head, and the beginning
// of PyArray_Descr (numpy/core/include/numpy/ndarraytypes.h); alike in 1 and 2.

struct NumpyArray {
  Address data;
  std::int32_t dimensions;
  Address sizes, strides, base, descriptor;
  std::int32_t flags;
};
struct NumpyType {
  Address type;
  char kind, letter, byte_order, flags;
  std::int32_t number;
};
constexpr std::int32_t kContiguous = 1;  // NPY_ARRAY_C_CONTIGUOUS

// By enum NPY_TYPES.
struct NumpyDtype {
  std::string_view name;
  std::size_t size;  // of a plain number; else 0
};
constexpr NumpyDtype kNumpyDtypes[] = {
    {"bool", 1},       {"int8", 1},        {"uint8", 1},
    {"int16", 2},      {"uint16", 2},      {"int32", 4},
    {"uint32", 4},     {"int64", 8},       {"uint64", 8},
    {"int64", 8},      {"uint64", 8},      {"float32", 4},
    {"float64", 8},    {"longdouble", 0},  {"complex64", 0},
    {"complex128", 0}, {"clongdouble", 0}, {"object", 0},
    {"bytes", 0},      {"str", 0},         {"void", 0},
    {"datetime64", 0}, {"timedelta64", 0}, {"float16", 0},
};

struct Numpy {
  NumpyArray array;
  NumpyType type;
  std::vector<std::int64_t> sizes;
};

Result<std::vector<std::int64_t>> read_sizes(const ObjectReader& objects,
                                             Address from,
                                             std::size_t count) {
  if (count > kMostDimensions) {
    return nothing_at("array", from);
  }
  std::vector<std::int64_t> sizes(count);
  TRY(objects.memory().read(from, std::as_writable_bytes(std::span(sizes))));
  return sizes;
}

Result<Numpy> read_numpy(const ObjectReader& objects, Address object) {
  Numpy read;
  read.array = TRY(objects.memory().read_value<NumpyArray>(
      object + objects.at().object_size));
  read.type = TRY(objects.memory().read_value<NumpyType>(
      read.array.descriptor + objects.at().object_size));
  read.sizes = TRY(read_sizes(objects, read.array.sizes,
                              static_cast<std::size_t>(read.array.dimensions)));
  return read;
}

std::string element_text(std::span<const std::byte> bytes,
                         std::string_view dtype) {
  if (dtype == "float64") {
    double value = 0;
    std::memcpy(&value, bytes.data(), sizeof value);
    return float_text(value);
  }
  if (dtype == "float32") {
    float value = 0;
    std::memcpy(&value, bytes.data(), sizeof value);
    return float_text(value);
  }
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data(), bytes.size());
  if (!dtype.starts_with("int")) {
    return dtype.starts_with("bool") ? (word != 0 ? "True" : "False")
                                     : std::to_string(word);
  }
  const auto shift = static_cast<int>(64 - bytes.size() * 8);
  return std::to_string(static_cast<std::int64_t>(word << shift) >> shift);
}

// ---- torch: THPVariable holds the address of a c10::TensorImpl, in its first
// word or, in those of 1.10 to 2.x, behind a flag. Where in that the sizes
// are differs; what is around them does not: their number, five of them (or
// where they are), five strides, an offset, how many elements, and a word with
// the dtype and the device. That these fit together tells the place.

constexpr std::uint64_t kInlineSizes = 5;
constexpr std::size_t kFirstPlace = 4;  // words into a TensorImpl
constexpr std::size_t kLastPlace = 16;
constexpr std::size_t kWords = kLastPlace + 15;
constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 50;

// c10::ScalarType, c10::DeviceType: new ones come behind these.
constexpr const char* kTorchDtypes[] = {"uint8",           "int8",
                                        "int16",           "int32",
                                        "int64",           "float16",
                                        "float32",         "float64",
                                        "complex32",       "complex64",
                                        "complex128",      "bool",
                                        "qint8",           "quint8",
                                        "qint32",          "bfloat16",
                                        "quint4x2",        "quint2x4",
                                        "bits1x8",         "bits2x4",
                                        "bits4x2",         "bits8",
                                        "bits16",          "float8_e5m2",
                                        "float8_e4m3fn",   "float8_e5m2fnuz",
                                        "float8_e4m3fnuz", "uint16",
                                        "uint32",          "uint64"};
constexpr const char* kTorchDevices[] = {
    "cpu",  "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip",
    "fpga", "maia", "xla",    "vulkan", "metal",  "xpu",   "mps",
    "meta", "hpu",  "ve",     "lazy",   "ipu",    "mtia",  "privateuseone"};

// A dtype, and an optional device: whether there is one comes behind it in
// std::optional, before it in that of torch 1.
struct DtypeAndDevice {
  std::uint16_t dtype;
  std::array<std::uint8_t, 3> device;
};

using Words = std::array<std::uint64_t, kWords>;

std::optional<std::string> device_text(const DtypeAndDevice& of) {
  const bool behind = of.device[2] == 1;
  if (!behind && of.device[0] != 1) {
    return std::nullopt;
  }
  const std::size_t kind = of.device[behind ? 0 : 1];
  const auto index = static_cast<std::int8_t>(of.device[behind ? 1 : 2]);
  if (kind >= std::size(kTorchDevices) || index < -1) {
    return std::nullopt;
  }
  return index < 0 ? kTorchDevices[kind]
                   : fmt::format("{}:{}", kTorchDevices[kind], index);
}

Result<std::optional<ArrayShape>> tensor_at(const ObjectReader& objects,
                                            Address tensor,
                                            const Words& words,
                                            std::size_t place) {
  const std::uint64_t count = words[place];
  if (count > kMostDimensions) {
    return std::nullopt;
  }
  DtypeAndDevice of{};
  std::memcpy(&of, &words[place + 13], sizeof of);
  const auto device = device_text(of);
  const std::uint64_t elements = words[place + 12];
  if (!device || elements > kMaxElements || words[place + 11] > kMaxElements) {
    return std::nullopt;
  }
  const Address sizes = count <= kInlineSizes ? tensor + (place + 1) * 8
                                              : Address{words[place + 1]};
  ArrayShape shape;
  shape.sizes = TRY(read_sizes(objects, sizes, count));
  std::uint64_t product = 1;
  for (const std::int64_t size : shape.sizes) {
    if (size < 0 || __builtin_mul_overflow(
                        product, static_cast<std::uint64_t>(size), &product)) {
      return std::nullopt;
    }
  }
  if (product != elements) {
    return std::nullopt;
  }
  shape.device = *device;
  shape.dtype = of.dtype < std::size(kTorchDtypes)
                    ? fmt::format("torch.{}", kTorchDtypes[of.dtype])
                    : "?";
  return shape;
}

}  // namespace

std::string ArrayShape::text() const {
  std::string text = "(";
  for (const std::int64_t size : sizes) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  }
  return text + (sizes.size() == 1 ? ",)" : ")");
}

Result<ArrayShape> read_array(const ObjectReader& objects, Address object) {
  const Numpy read = TRY(read_numpy(objects, object));
  const auto number = static_cast<std::size_t>(read.type.number);
  return ArrayShape{read.sizes,
                    number < std::size(kNumpyDtypes)
                        ? std::string(kNumpyDtypes[number].name)
                        : "?",
                    ""};
}

Result<std::vector<std::string>> array_values(const ObjectReader& objects,
                                              Address object,
                                              std::size_t most) {
  const Numpy read = TRY(read_numpy(objects, object));
  const auto number = static_cast<std::size_t>(read.type.number);
  const std::size_t size =
      number < std::size(kNumpyDtypes) ? kNumpyDtypes[number].size : 0;
  std::uint64_t count = 1;
  for (const std::int64_t each : read.sizes) {
    if (each < 0 || static_cast<std::uint64_t>(each) > most) {
      return std::vector<std::string>{};
    }
    count = std::min<std::uint64_t>(count * static_cast<std::uint64_t>(each),
                                    most + 1);
  }
  if (count > most || size == 0 || read.type.byte_order == '>' ||
      (read.array.flags & kContiguous) == 0) {
    return std::vector<std::string>{};
  }
  std::vector<std::byte> bytes(count * size);
  TRY(objects.memory().read(read.array.data, bytes));
  std::vector<std::string> values;
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(element_text(std::span(bytes).subspan(i * size, size),
                                  kNumpyDtypes[number].name));
  }
  return values;
}

Result<std::string> array_scalar(const ObjectReader& objects,
                                 Address object,
                                 const Type& type) {
  const std::string name = type.name == "bool_" ? "bool" : type.name;
  const auto* dtype = std::ranges::find(kNumpyDtypes, name, &NumpyDtype::name);
  if (dtype == std::end(kNumpyDtypes) || dtype->size == 0) {
    return nothing_at("number", object);
  }
  std::vector<std::byte> bytes(dtype->size);
  TRY(objects.memory().read(object + objects.at().object_size, bytes));
  return element_text(bytes, name);
}

Result<ArrayShape> read_tensor(const ObjectReader& objects, Address object) {
  const Address first = object + objects.at().object_size;
  for (const Address holder : {first, first + 8}) {
    const Address tensor = TRY(objects.pointer(holder));
    const auto words = objects.memory().read_value<Words>(tensor);
    for (std::size_t place = kFirstPlace; words && place <= kLastPlace;
         ++place) {
      if (auto shape = TRY(tensor_at(objects, tensor, *words, place))) {
        return *std::move(shape);
      }
    }
  }
  return nothing_at("tensor", object);
}

}  // namespace hangdbg
