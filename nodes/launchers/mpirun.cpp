// mpirun:HOSTFILE (Open MPI with ORTE or PRRTE, MPICH's Hydra): what a cluster
// without ssh for its users may have. A process each: where one carries all
// ranks, their lines get mixed up.
#include <fmt/core.h>

#include "nodes/hosts/host_list.h"
#include "nodes/launchers/launcher.h"

namespace hangdbg {
namespace {

class Mpirun : public Launcher {
 public:
  using Launcher::Launcher;

  // The one rank of it has our standard input.
  std::vector<std::string> words(const std::vector<std::string>& nodes,
                                 const std::string& script) const override {
    return {"mpirun", "-n", "1", "-host", nodes.front(), "sh", "-c", script};
  }
};

}  // namespace

MadeLauncher make_mpirun(std::string_view hostfile) {
  return std::make_unique<Mpirun>(
      TRY(parse_hosts(fmt::format("^{}", hostfile))));
}

}  // namespace hangdbg
