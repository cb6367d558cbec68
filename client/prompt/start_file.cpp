#include "client/prompt/start_file.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/text.h"

namespace hangdbg {
namespace {

namespace fs = std::filesystem;

fs::path path_of_start_file() {
  const char* const config = std::getenv("XDG_CONFIG_HOME");
  const char* const home = std::getenv("HOME");
  if (config != nullptr && *config == '/') {
    return fs::path(config) / "hangdbg" / "prompt";
  }
  return home != nullptr && *home == '/'
             ? fs::path(home) / ".config" / "hangdbg" / "prompt"
             : fs::path();
}

}  // namespace

Result<std::vector<std::string>> start_commands() {
  const fs::path path = path_of_start_file();
  struct stat file {};
  if (path.empty() || ::stat(path.c_str(), &file) != 0) {
    return std::vector<std::string>();
  }
  const bool is_ours = file.st_uid == ::geteuid() || file.st_uid == 0;
  if (!is_ours || (file.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return fail(ErrorId::NotPermitted,
                fmt::format("{} is not read: another user may write it",
                            printable(path.string())),
                "chmod go-w " + shell_quote(path.string()));
  }
  std::vector<std::string> commands;
  std::ifstream lines(path);
  for (std::string line; std::getline(lines, line);) {
    const auto text = trim(line);
    if (!text.empty() && !text.starts_with('#')) {
      commands.emplace_back(text);
    }
  }
  return commands;
}

}  // namespace hangdbg
