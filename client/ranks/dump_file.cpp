#include "client/ranks/dump_file.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <utility>

#include "base/text.h"
#include "protocol/json.h"

namespace hangdbg {
namespace {

struct FileDumps {
  std::vector<FileProcess> processes;

  template <class V>
  void fields(V& v) {
    v("processes", processes);
  }
};

Result<std::string> read_all(const std::string& path);

}  // namespace

Result<std::vector<FileProcess>> read_dump_file(const std::string& path) {
  const std::string text = TRY(read_all(path));
  if (trim(text).empty()) {
    return fail(ErrorId::BadMessage, "it is empty");
  }
  auto dumps = TRY(decode<FileDumps>(TRY(Json::parse(text))));
  return std::move(dumps.processes);
}

namespace {

Result<std::string> read_all(const std::string& path) {
  const bool is_stdin = path == "-";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      is_stdin ? stdin : std::fopen(path.c_str(), "re"),
      is_stdin ? [](std::FILE*) { return 0; } : std::fclose);
  if (!file) {
    return fail_errno("it cannot be read");
  }
  std::string text;
  std::string buffer(1 << 20, '\0');
  while (const auto size =
             std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    text.append(buffer, 0, size);
  }
  return std::ferror(file.get()) != 0
             ? Result<std::string>(fail_errno("it cannot be read"))
             : text;
}

}  // namespace
}  // namespace hangdbg
