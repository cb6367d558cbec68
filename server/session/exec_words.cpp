#include "server/session/exec_words.h"

#include <unistd.h>

#include <string_view>

namespace hangdbg {

std::vector<char*> exec_words(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) {
    all.push_back(word.data());
  }
  all.push_back(nullptr);
  return all;
}

std::vector<std::string> variables_for_child() {
  std::vector<std::string> variables;
  for (char** each = environ; *each != nullptr; ++each) {
    if (!std::string_view(*each).starts_with("HANGDBG_TOKEN=")) {
      variables.emplace_back(*each);
    }
  }
  return variables;
}

}  // namespace hangdbg
