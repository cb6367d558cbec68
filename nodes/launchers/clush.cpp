// clush:HOSTS (ClusterShell). One process for all hosts; it connects to many
// through others where it is configured so (topology.conf), and copies its
// standard input to each.
#include "nodes/hosts/host_list.h"
#include "nodes/launchers/launcher.h"

namespace hangdbg {
namespace {

class Clush : public Launcher {
 public:
  using Launcher::Launcher;

  bool one_for_all() const override { return true; }

  std::vector<std::string> words(const std::vector<std::string>& nodes,
                                 const std::string& script) const override {
    return {"clush",
            "-q",
            "-f",
            "64",
            "-t",
            "8",
            "--color=never",
            "-w",
            fold_hosts(nodes),
            as_one_word(script)};
  }
};

}  // namespace

MadeLauncher make_clush(std::string_view hosts) {
  return std::make_unique<Clush>(TRY(parse_hosts(hosts)));
}

}  // namespace hangdbg
