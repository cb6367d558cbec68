// What exec takes: a program's words and variables.
#pragma once

#include <string>
#include <vector>

namespace hangdbg {

// Null-terminated, and good for as long as the words are.
std::vector<char*> exec_words(std::vector<std::string>& words);

// Ours, each as NAME=VALUE, but for the server's token: its children are not to
// decide whom that admits.
std::vector<std::string> variables_for_child();

}  // namespace hangdbg
