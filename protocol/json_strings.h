// The strings in a JSON value, changed.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "protocol/json.h"

namespace hangdbg {

struct StringPlace {
  std::string_view before;  // the string before it in an array, or ""
  // The names of the members that it is in, from the outermost.
  const std::vector<std::string_view>& members;
};

// What becomes of a string.
using ChangeString =
    std::function<std::string(const StringPlace& place, std::string_view)>;

// The same value with each string in it changed; names of members stay.
Json with_strings(const Json& json, const ChangeString& change);

}  // namespace hangdbg
