#include "client/views/diff/side.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "client/options/input_file.h"
#include "client/report/archive.h"
#include "protocol/json.h"
#include "protocol/reports/compared.h"

namespace hangdbg {
namespace {

// Packed, and unpacked: a report of a thousand ranks is a tenth of it.
constexpr std::size_t kMostBytes = std::size_t{256} << 20;

Result<std::string> report_in(std::string_view archive);

}  // namespace

Result<Side> read_side(const std::string& path) {
  const auto with_path = [&path](Error error) {
    return fail(ErrorId::Usage,
                fmt::format("{}: {}", printable(path), printable(error.text())),
                "hangdbg report PID");
  };
  const auto bytes = read_input(path, kMostBytes);
  if (!bytes) {
    return with_path(bytes.error());
  }
  auto side = parse_side(*bytes);
  if (!side) {
    return with_path(side.error());
  }
  side->path = path;
  return side;
}

Result<Side> parse_side(std::string_view bytes) {
  if (is_gzip(bytes)) {
    return parse_side(TRY(report_in(bytes)));
  }
  if (trim(bytes).empty()) {
    return fail(ErrorId::BadMessage, "empty file");
  }
  const Json json = TRY(Json::parse(bytes));
  const auto kind = decode<reports::ComparedDocument>(json);
  Side side;
  if (kind && kind->format) {
    side.report = TRY(decode<reports::ReportDocument>(json));
  } else if (kind && !kind->processes.is_null()) {
    side.report.parts.push_back({.part = "dump", .json = json});
  } else {
    return fail(ErrorId::BadMessage,
                "neither a report nor written by `dump --json`");
  }
  if (const Json& dump = part_of(side.report, "dump"); !dump.is_null()) {
    side.processes = TRY(decode<reports::DumpedProcesses>(dump)).processes;
    std::erase_if(side.processes, [](const reports::DumpedProcess& one) {
      return one.error.has_value();
    });
  }
  if (side.processes.empty()) {  // what else is known of them
    for (const reports::ReportProcess& one : side.report.processes) {
      side.processes.push_back({.pid = one.pid, .rank = one.rank});
    }
  }
  if (side.processes.empty()) {
    return fail(ErrorId::BadMessage, "contains no process");
  }
  return side;
}

namespace {

Result<std::string> report_in(std::string_view archive) {
  auto files = TRY(unpack(archive, kMostBytes));
  for (ArchivedFile& file : files) {
    if (file.name.substr(file.name.rfind('/') + 1) == kReportFile) {
      if (is_gzip(file.text)) {
        break;
      }
      return std::move(file.text);
    }
  }
  return fail(ErrorId::BadMessage,
              fmt::format("no {} in that archive", kReportFile));
}

}  // namespace
}  // namespace hangdbg
