#include "client/ranks/dump_file.h"

#include <cstddef>
#include <utility>

#include "base/text.h"
#include "client/options/input_file.h"
#include "protocol/json.h"

namespace hangdbg {
namespace {

// Of a hundred thousand ranks.
constexpr std::size_t kMostBytes = std::size_t{8} << 30;

}  // namespace

Result<std::vector<reports::DumpedProcess>> read_dump_file(
    const std::string& path) {
  const std::string text = TRY(read_input(path, kMostBytes));
  if (trim(text).empty()) {
    return fail(ErrorId::BadMessage, "empty file");
  }
  const Json json = TRY(Json::parse(text));
  if (const auto none = decode<reports::NoAnswer>(json)) {
    return fail(ErrorId::BadMessage, "not a dump: " + none->error.message);
  }
  auto dumps = TRY(decode<reports::DumpedProcesses>(json));
  return std::move(dumps.processes);
}

}  // namespace hangdbg
