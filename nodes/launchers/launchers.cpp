// The table of launchers.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "nodes/launchers/launcher.h"

namespace hangdbg {
namespace {

struct LauncherRow {
  std::string_view name;
  std::string_view form;
  MadeLauncher (*make)(std::string_view);
};

constexpr LauncherRow kLaunchers[] = {
    {"ssh", "ssh:HOSTS", make_ssh},
    {"pdsh", "pdsh:HOSTS", make_pdsh},
    {"clush", "clush:HOSTS", make_clush},
    {"srun", "srun[:JOB[.STEP]]", make_srun},
    {"mpirun", "mpirun:HOSTFILE", make_mpirun},
    {"docker", "docker:NAMES", make_docker},
    {"kubectl", "kubectl:[NAMESPACE/]SELECTOR[@CONTAINER]", make_kubectl},
    {"cmd", "cmd:'HOSTS WORD... {host}'", make_template},
};

}  // namespace

MadeLauncher make_launcher(std::string_view how) {
  const auto colon = how.find(':');
  const std::string_view name = how.substr(0, colon);
  const auto* const row =
      std::ranges::find(kLaunchers, name, &LauncherRow::name);
  const bool bare = colon == std::string_view::npos;
  if (row == std::end(kLaunchers) || (bare && name != "srun")) {
    return fail(
        ErrorId::Usage,
        fmt::format(
            "--via {}: {}", printable(how),
            row == std::end(kLaunchers) ? "no such launcher" : "which nodes?"),
        "--via " + (row == std::end(kLaunchers) ? launcher_forms()
                                                : std::string(row->form)));
  }
  return row->make(bare ? std::string_view() : how.substr(colon + 1));
}

std::string launcher_forms() {
  std::string all;
  for (const LauncherRow& row : kLaunchers) {
    all += fmt::format("{}{}", all.empty() ? "" : ", ", row.form);
  }
  return all;
}

std::string as_one_word(const std::string& script) {
  return shell_quote(std::vector<std::string>{"sh", "-c", script});
}

}  // namespace hangdbg
