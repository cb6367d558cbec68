// What users of gdb (py-bt, info threads) and of IPython (x?, x??) type, as the
// prompt has it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hangdbg {

// Any other text as it is.
std::string as_typed_here(std::string_view text);

// "threads", "locals", ...: what may follow `info`.
std::vector<std::string_view> words_after_info();

}  // namespace hangdbg
