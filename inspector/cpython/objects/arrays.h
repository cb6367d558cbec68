// Arrays of numpy and tensors of torch: what they are, never the values of
// one that may lie on a device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "inspector/cpython/objects/object_reader.h"
#include "tracee/memory/address.h"

namespace hangdbg {

struct ArrayShape {
  std::vector<std::int64_t> sizes;
  std::string dtype;   // "float32", "torch.float32"
  std::string device;  // "cuda:0"; of a tensor

  std::string text() const;  // "(2, 3)"
};

// Errors: Unreadable, also for one of a numpy that is laid out otherwise.
Result<ArrayShape> read_array(const ObjectReader& objects, Address object);

// The values of a small one, flat, as far as they are plain numbers in a row;
// else none. Errors: Unreadable.
Result<std::vector<std::string>> array_values(const ObjectReader& objects,
                                              Address object,
                                              std::size_t most);

// Of an object of numpy's that is one number: its value. Errors: Unreadable.
Result<std::string> array_scalar(const ObjectReader& objects,
                                 Address object,
                                 const Type& type);

// Errors: Unreadable, also for one of a torch that is laid out otherwise.
Result<ArrayShape> read_tensor(const ObjectReader& objects, Address object);

}  // namespace hangdbg
