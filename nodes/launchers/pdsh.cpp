// pdsh:HOSTS. One process for all hosts. It hands no standard input on, and
// replaces "%h" and the like in the command, of which ours has none.
#include <cstdlib>

#include "nodes/hosts/host_list.h"
#include "nodes/launchers/launcher.h"

namespace hangdbg {
namespace {

class Pdsh : public Launcher {
 public:
  using Launcher::Launcher;

  bool one_for_all() const override { return true; }
  bool forwards_input() const override { return false; }

  std::vector<std::string> words(const std::vector<std::string>& nodes,
                                 const std::string& script) const override {
    // Debian's takes rsh, where nothing else is said.
    const char* const type = std::getenv("PDSH_RCMD_TYPE");
    return {"pdsh",
            "-R",
            type != nullptr ? type : "ssh",
            "-t",
            "8",
            "-f",
            "64",
            "-w",
            fold_hosts(nodes),
            as_one_word(script)};
  }
};

}  // namespace

MadeLauncher make_pdsh(std::string_view hosts) {
  return std::make_unique<Pdsh>(TRY(parse_hosts(hosts)));
}

}  // namespace hangdbg
