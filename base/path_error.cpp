#include "base/path_error.h"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>

#include "base/text.h"

namespace hangdbg {
namespace {

std::string folder_of(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  return folder.empty() ? "." : shell_quote(folder.string());
}

std::unexpected<Error> usage(std::string message,
                             std::string hint,
                             int error_number) {
  return std::unexpected(Error{.id = ErrorId::Usage,
                               .message = std::move(message),
                               .hint = std::move(hint),
                               .errno_value = error_number});
}

}  // namespace

std::unexpected<Error> cannot_read(const std::string& path, int error_number) {
  return usage(fmt::format("cannot open {}", printable(path)),
               error_number == ENOENT ? "ls " + folder_of(path)
                                      : "ls -ld " + shell_quote(path),
               error_number);
}

std::unexpected<Error> cannot_write(const std::string& path, int error_number) {
  const std::string folder = folder_of(path);
  std::string hint = "ls -ld " + folder;
  if (error_number == ENOENT) {
    hint = "mkdir -p " + folder;
  } else if (error_number == ENOSPC || error_number == EDQUOT) {
    hint = "df -h " + folder;
  }
  return usage(fmt::format("cannot write {}", printable(path)), std::move(hint),
               error_number);
}

std::unexpected<Error> cannot_run(const std::string& name, int error_number) {
  const bool has_folder = name.find('/') != std::string::npos;
  return usage(
      fmt::format("cannot run {}", printable(name)),
      has_folder
          ? (error_number == ENOENT ? "ls " + folder_of(name)
                                    : "ls -ld " + shell_quote(name))
          : fmt::format("type -a {}; or give its path", shell_quote(name)),
      error_number);
}

}  // namespace hangdbg
