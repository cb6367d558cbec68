#include "client/options/input_file.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <memory>

#include "base/fd.h"

namespace hangdbg {

Result<std::string> read_input(const std::string& path, std::size_t most) {
  const bool is_stdin = path == "-";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      is_stdin ? stdin : std::fopen(path.c_str(), "re"),
      is_stdin ? [](std::FILE*) { return 0; } : std::fclose);
  if (!file) {
    note_refused_descriptor();
    return fail_errno("cannot be read");
  }
  std::string text;
  std::string buffer(1 << 20, '\0');
  while (const auto size =
             std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    text.append(buffer, 0, size);
    if (text.size() > most) {
      return fail(ErrorId::BadMessage,
                  fmt::format("larger than {} MB", most >> 20));
    }
  }
  return std::ferror(file.get()) != 0
             ? Result<std::string>(fail_errno("cannot be read"))
             : text;
}

}  // namespace hangdbg
