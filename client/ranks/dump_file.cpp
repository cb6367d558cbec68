#include "client/ranks/dump_file.h"

#include <cstddef>
#include <utility>

#include "base/text.h"
#include "client/input_file.h"
#include "protocol/json.h"

namespace hangdbg {
namespace {

// Of a hundred thousand ranks.
constexpr std::size_t kMostBytes = std::size_t{8} << 30;

}  // namespace

Result<std::vector<FileProcess>> read_dump_file(const std::string& path) {
  const std::string text = TRY(read_input(path, kMostBytes));
  if (trim(text).empty()) {
    return fail(ErrorId::BadMessage, "it is empty");
  }
  auto dumps = TRY(decode<FileDumps>(TRY(Json::parse(text))));
  return std::move(dumps.processes);
}

}  // namespace hangdbg
