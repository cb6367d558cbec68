// docker:NAMES. Each container is a node.
#include "nodes/hosts/host_list.h"
#include "nodes/launchers/launcher.h"

namespace hangdbg {
namespace {

class Docker : public Launcher {
 public:
  using Launcher::Launcher;

  std::vector<std::string> words(const std::vector<std::string>& nodes,
                                 const std::string& script) const override {
    return {"docker", "exec", "-i", nodes.front(), "sh", "-c", script};
  }
  std::vector<std::string> terminal_words(
      const std::string& node,
      const std::string& script) const override {
    return {"docker", "exec", "-it", node, "sh", "-c", script};
  }
};

}  // namespace

MadeLauncher make_docker(std::string_view names) {
  return std::make_unique<Docker>(TRY(parse_hosts(names)));
}

}  // namespace hangdbg
