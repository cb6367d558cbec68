// Python source in colours: keywords, strings, numbers, comments.
#pragma once

#include <string>
#include <string_view>

namespace hangdbg {

// One line after another: a string may continue in the next one.
class PythonColours {
 public:
  // With escape sequences that take no room.
  std::string line(std::string_view text);

 private:
  std::size_t end_of_string(std::string_view text, std::size_t from);

  std::string quotes_;  // of the string that continues, if any
};

}  // namespace hangdbg
