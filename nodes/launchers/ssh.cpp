// ssh:HOSTS. One connection a host; what ~/.ssh/config says holds.
#include <utility>

#include "nodes/hosts/host_list.h"
#include "nodes/launchers/launcher.h"

namespace hangdbg {
namespace {

class Ssh : public Launcher {
 public:
  using Launcher::Launcher;

  // There is no user to type a password; a host that is silent is given up.
  std::vector<std::string> words(const std::vector<std::string>& nodes,
                                 const std::string& script) const override {
    return with_options("-T", nodes.front(), script);
  }
  // Its terminal has the size of ours, also when that changes, and Ctrl-C.
  std::vector<std::string> terminal_words(
      const std::string& node,
      const std::string& script) const override {
    return with_options("-tt", node, script);
  }

 private:
  static std::vector<std::string> with_options(const std::string& terminal,
                                               const std::string& node,
                                               const std::string& script) {
    return {"ssh",
            terminal,
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
            node,
            as_one_word(script)};
  }
};

}  // namespace

MadeLauncher make_ssh(std::string_view hosts) {
  return std::make_unique<Ssh>(TRY(parse_hosts(hosts)));
}

}  // namespace hangdbg
