// ssh:HOSTS. One connection a host; what ~/.ssh/config says holds.
#include <utility>

#include "nodes/hosts/host_list.h"
#include "nodes/launchers/launcher.h"

namespace hangdbg {
namespace {

class Ssh : public Launcher {
 public:
  using Launcher::Launcher;

  // Nobody is there to type a password; a host that is silent is given up.
  std::vector<std::string> words(const std::vector<std::string>& nodes,
                                 const std::string& script) const override {
    return {"ssh",
            "-T",
            "-o",
            "BatchMode=yes",
            "-o",
            "ConnectTimeout=8",
            "-o",
            "ServerAliveInterval=5",
            "-o",
            "ServerAliveCountMax=2",
            "-o",
            "ForwardX11=no",
            "-o",
            "ForwardAgent=no",
            "-o",
            "ClearAllForwardings=yes",
            "--",
            nodes.front(),
            as_one_word(script)};
  }
};

}  // namespace

MadeLauncher make_ssh(std::string_view hosts) {
  return std::make_unique<Ssh>(TRY(parse_hosts(hosts)));
}

}  // namespace hangdbg
