// The command line as it was typed, and from it the one that a message
// proposes next: with the same process, job, frame and options.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hangdbg {

// Once, by run_command_line: argv, or what the hangdbg that has started this
// one for a rank was told.
void remember_typed(std::span<char* const> words);
// That, as a variable of such a child's environment: "NAME=...".
std::string typed_for_child();
// The same of another machine's words.
std::string typed_for_child(const std::vector<std::string>& words);

// Whether a node runs this command for another machine.
bool is_asked_by_node();

// "hangdbg dump 79655 --locals", to copy and paste; "hangdbg" where nothing was
// remembered.
std::string typed_command();

// The same with "--timeout 60" in place of the --timeout that it has, or behind
// the others. `name` with its dashes.
std::string typed_with(std::string_view name, std::string_view value);

// The same without that option and its value.
std::string typed_without(std::string_view name);

// All of them, as one types them; and without that option and its value.
const std::vector<std::string>& typed_words();
std::vector<std::string> typed_words_without(std::string_view name);

// The same with a flag more: "--merge".
std::string typed_plus(std::string_view flag);

// The same with another command: "hangdbg peek 79655 x --frame 1".
std::string typed_as(std::string_view command);

// The same with one word in place of another one; "" leaves it out, and the -p
// before it.
std::string typed_but(std::string_view word, std::string_view other);

// The same with `last` and the word before them as one word: an expression that
// was not quoted. Empty where they are not there so.
std::string typed_joined(const std::vector<std::string>& last);

// A hint of the layers below, which do not know what was typed: of "sudo
// hangdbg attach 79655, or on the host: docker exec CONTAINER hangdbg attach
// 79655" what comes behind "sudo" and "CONTAINER" becomes what was typed.
std::string as_typed(std::string_view hint);

}  // namespace hangdbg
