#include "client/prompt/history_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/fd.h"
#include "base/log.h"

namespace hangdbg {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kKept = 1000;
// What is typed may hold secrets.
constexpr mode_t kMode = 0600;

void write_all(const Fd& file, std::string_view text) {
  // History is a comfort: what cannot be written is not.
  [[maybe_unused]] const auto put =
      ::write(file.get(), text.data(), text.size());
}

}  // namespace

HistoryFile::HistoryFile() {
  const char* const state = std::getenv("XDG_STATE_HOME");
  const char* const home = std::getenv("HOME");
  fs::path folder;
  if (state != nullptr && *state == '/') {
    folder = state;
  } else if (home != nullptr && *home == '/') {
    folder = fs::path(home) / ".local" / "state";
  } else {
    return;
  }
  folder /= "hangdbg";
  std::error_code error;
  fs::create_directories(folder, error);
  path_ = folder / "history";
}

std::vector<std::string> HistoryFile::load() {
  std::vector<std::string> lines;
  std::ifstream file(path_);
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  const bool too_long = lines.size() > 2 * kKept;
  if (lines.size() > kKept) {
    lines.erase(lines.begin(), lines.end() - kKept);
  }
  if (too_long) {
    std::string text;
    for (const std::string& line : lines) {
      text += line + "\n";
    }
    const std::string fresh = path_ + ".new";
    {
      const Fd out(::open(fresh.c_str(),
                          O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode));
      write_all(out, text);
    }
    std::error_code error;
    fs::rename(fresh, path_, error);
  }
  return lines;
}

void HistoryFile::append(std::string_view line) {
  if (path_.empty()) {
    return;
  }
  const Fd file(
      ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kMode));
  if (!file) {
    log::debug(log::Area::Client, "history not saved: cannot write {}", path_);
    return;
  }
  write_all(file, std::string(line) + "\n");
}

}  // namespace hangdbg
