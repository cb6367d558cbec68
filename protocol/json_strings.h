// The strings in a JSON value, changed.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "protocol/json.h"

namespace hangdbg {

// What becomes of a string; `before` is the one before it in an array, or "".
using ChangeString =
    std::function<std::string(std::string_view before, std::string_view)>;

// The same value with each string in it changed; names of members stay.
Json with_strings(const Json& json, const ChangeString& change);

}  // namespace hangdbg
