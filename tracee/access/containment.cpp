#include "tracee/access/containment.h"

#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>

#include "tracee/proc/proc_file.h"

namespace hangdbg {
namespace {

// Kubernetes mounts them into every pod that has a service account.
constexpr const char* kSecrets = "/var/run/secrets/kubernetes.io";

bool exists(const char* path) {
  return ::access(path, F_OK) == 0;
}

// A pod's name is its host's; its namespace is beside the secrets.
std::string kubectl_debug(const std::string& pid) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::string space;
  std::ifstream(std::string(kSecrets) + "/serviceaccount/namespace") >> space;
  return fmt::format(
      "kubectl debug -it {}{}{} --profile=general --target=CONTAINER "
      "--image=IMAGE, and in it: hangdbg attach {}",
      host.data(), space.empty() ? "" : " -n ", space, pid);
}

}  // namespace

Containment containment() {
  const std::string groups =
      read_proc_file(::getpid(), "cgroup").value_or(std::string());
  const auto in_group = [&](const char* word) {
    return groups.find(word) != groups.npos;
  };
  if (std::getenv("KUBERNETES_SERVICE_HOST") != nullptr || exists(kSecrets) ||
      in_group("kubepods")) {
    return Containment::Pod;
  }
  if (exists("/.dockerenv") || exists("/run/.containerenv") ||
      in_group("docker") || in_group("libpod")) {
    return Containment::Container;
  }
  return Containment::Machine;
}

std::string way_to_more_rights(Containment where, const std::string& pid) {
  switch (where) {
    case Containment::Pod:
      return kubectl_debug(pid);
    case Containment::Container:
      return fmt::format(
          "{}on the host: docker exec -u 0 --privileged CONTAINER hangdbg "
          "attach {}",
          ::geteuid() == 0 ? ""
                           : fmt::format("sudo hangdbg attach {}, or ", pid),
          pid);
    default:
      return fmt::format("sudo hangdbg attach {}", pid);
  }
}

}  // namespace hangdbg
