#include "client/report/document.h"

#include <sys/utsname.h>

#include <fmt/core.h>

#include <fstream>
#include <thread>

#include "base/text.h"

namespace hangdbg {
namespace {

std::string system_name();

}  // namespace

reports::ReportMachine this_machine() {
  utsname names{};
  ::uname(&names);
  return {.host = to_utf8(names.nodename),
          .kernel = fmt::format("{} {}", names.sysname, names.release),
          .arch = names.machine,
          .system = system_name(),
          .cpus = std::thread::hardware_concurrency()};
}

const Json& part_of(const reports::ReportDocument& document,
                    std::string_view name,
                    std::optional<std::int64_t> pid) {
  static const Json none;
  for (const reports::ReportPartJson& one : document.parts) {
    if (one.part == name && (!pid || one.pid == pid)) {
      return one.json;
    }
  }
  return none;
}

namespace {

// os-release(5): PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
std::string system_name() {
  constexpr std::string_view kName = "PRETTY_NAME=";
  std::ifstream file("/etc/os-release");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kName)) {
      std::string_view name = std::string_view(line).substr(kName.size());
      if (name.size() >= 2 && name.front() == '"' && name.back() == '"') {
        name = name.substr(1, name.size() - 2);
      }
      return to_utf8(name);
    }
  }
  return {};
}

}  // namespace
}  // namespace hangdbg
