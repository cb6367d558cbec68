// The lines that were typed, kept from session to session in
// $XDG_STATE_HOME/hangdbg/history, else ~/.local/state/hangdbg/history.
//
// One line of the file is one typed line. Each is appended at once, so that
// sessions side by side keep what the others typed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hangdbg {

class HistoryFile {
 public:
  // Where there is no home, or it may not be written to, nothing is kept.
  HistoryFile();
  explicit HistoryFile(std::string path) : path_(std::move(path)) {}

  // The newest lines, the oldest of them first. Shortens a file that has
  // grown to more than twice of what is kept.
  std::vector<std::string> load();

  void append(std::string_view line);

 private:
  std::string path_;
};

}  // namespace hangdbg
