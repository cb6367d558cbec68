// What is wrong with a command line, and the one that was probably meant.
#pragma once

#include <string>

#include "base/error.h"

namespace CLI {  // NOLINT(readability-identifier-naming): not ours
class App;
class ParseError;
}  // namespace CLI

namespace hangdbg {

// `app` has parsed what remember_typed() was given, and failed by `error`.
Error usage_error(const CLI::App& app, const CLI::ParseError& error);

// `hangdbg help WORD` and `hangdbg WORD` where WORD is no command. The hint:
// what was typed, with the closest command in place of WORD.
Error unknown_command(const CLI::App& app, const std::string& word);

}  // namespace hangdbg
