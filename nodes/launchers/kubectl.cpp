// kubectl:[NAMESPACE/]SELECTOR[@CONTAINER]. Each running pod that the labels
// choose is a node.
#include <fmt/core.h>

#include <utility>

#include "base/text.h"
#include "nodes/hosts/host_list.h"
#include "nodes/launchers/launcher.h"
#include "nodes/launchers/listed.h"

namespace hangdbg {
namespace {

class Kubectl : public Launcher {
 public:
  Kubectl(std::vector<std::string> pods,
          std::vector<std::string> space,
          std::vector<std::string> container)
      : Launcher(std::move(pods)),
        space_(std::move(space)),
        container_(std::move(container)) {}

  std::vector<std::string> words(const std::vector<std::string>& nodes,
                                 const std::string& script) const override {
    return exec_words({"--stdin"}, nodes.front(), script);
  }
  std::vector<std::string> terminal_words(
      const std::string& node,
      const std::string& script) const override {
    return exec_words({"--stdin", "--tty"}, node, script);
  }

 private:
  std::vector<std::string> exec_words(const std::vector<std::string>& streams,
                                      const std::string& pod,
                                      const std::string& script) const {
    std::vector<std::string> all = {"kubectl", "exec"};
    all.insert(all.end(), streams.begin(), streams.end());
    all.push_back("--quiet");
    all.insert(all.end(), space_.begin(), space_.end());
    all.push_back(pod);
    all.insert(all.end(), container_.begin(), container_.end());
    all.insert(all.end(), {"--", "sh", "-c", script});
    return all;
  }

  std::vector<std::string> space_, container_;
};

}  // namespace

MadeLauncher make_kubectl(std::string_view text) {
  std::vector<std::string> space, container;
  // A label's key may have a slash, behind a domain: "example.com/job=7".
  const auto slash = text.substr(0, text.find('=')).find('/');
  if (slash != std::string_view::npos &&
      text.substr(0, slash).find('.') == std::string_view::npos) {
    space = {fmt::format("--namespace={}", text.substr(0, slash))};
    text.remove_prefix(slash + 1);
  }
  if (const auto at = text.rfind('@'); at != std::string_view::npos) {
    container = {fmt::format("--container={}", text.substr(at + 1))};
    text = text.substr(0, at);
  }
  if (text.empty()) {
    return fail(ErrorId::Usage, "which pods?", "--via kubectl:app=train");
  }
  std::vector<std::string> list = {"kubectl",
                                   "get",
                                   "pods",
                                   fmt::format("--selector={}", text),
                                   "--field-selector=status.phase=Running",
                                   "--output=name"};
  list.insert(list.end(), space.begin(), space.end());
  std::string names;
  const std::string output = TRY(output_of(list));
  for (const std::string_view word : split_words(output)) {
    names += fmt::format("{}{}", names.empty() ? "" : ",", base_name(word));
  }
  if (names.empty()) {
    return fail(
        ErrorId::NoSuchProcess,
        fmt::format("no running pod has the labels {}", printable(text)),
        "kubectl get pods --show-labels");
  }
  return std::make_unique<Kubectl>(TRY(parse_hosts(names)), std::move(space),
                                   std::move(container));
}

}  // namespace hangdbg
