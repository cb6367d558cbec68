// The target's source files, as the target names them.
//
// Read out of process (tracee/program/target_text.h): nothing is run in the
// target, but by what ask_for_others() is given.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hangdbg {

class SourceText {
 public:
  explicit SourceText(int pid);

  // Of a process that is no more: files below that folder.
  explicit SourceText(std::string root) : root_(std::move(root)) {}

  // The text of what cannot be read as a file; empty: there is none; nothing:
  // not known now.
  using Ask = std::function<std::optional<std::string>(const std::string&)>;
  void ask_for_others(Ask ask) { ask_ = std::move(ask); }

  // The file's lines, the first at [0]; empty if it cannot be read. Each file
  // is read once.
  const std::vector<std::string>& lines(const std::string& path);

  // It has been written anew: it is read again.
  void forget(const std::string& path) { files_.erase(path); }

  // One line, 1-based, without the white space around it.
  std::optional<std::string> line(const std::string& path, std::int64_t number);

 private:
  std::string root_;
  std::optional<int> pid_;  // whose working directory counts
  std::map<std::string, std::vector<std::string>> files_;
  Ask ask_;
};

// Lines as Python counts them: ended by \n, \r\n or \r; made fit for a
// terminal.
std::vector<std::string> source_lines(std::string_view bytes);

}  // namespace hangdbg
