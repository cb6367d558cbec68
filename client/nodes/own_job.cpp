#include "client/nodes/own_job.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "base/text.h"
#include "client/terminal/render.h"
#include "client/terminal/typed.h"
#include "inspector/jobs/choice.h"
#include "inspector/jobs/nccl_peers.h"
#include "inspector/jobs/process_tree.h"
#include "inspector/ranks/rank_identity.h"
#include "nodes/hosts/host_list.h"
#include "nodes/launchers/listed.h"
#include "protocol/json.h"
#include "protocol/reports/pod.h"
#include "tracee/net/tcp_sockets.h"
#include "tracee/proc/proc_file.h"
#include "tracee/program/environment.h"

namespace hangdbg {
namespace {

// In the order in which they are believed.
constexpr std::array<std::string_view, 7> kJobLabels = {
    "training.kubeflow.org/job-name",
    "jobset.sigs.k8s.io/jobset-name",
    "leaderworkerset.sigs.k8s.io/name",
    "ray.io/cluster",
    "batch.kubernetes.io/job-name",
    "job-name",
    "app"};

// Of mpirun, mpiexec (Hydra's -f), prterun, deepspeed.
constexpr std::array<std::string_view, 5> kHostFiles = {
    "--hostfile", "-hostfile", "--machinefile", "-machinefile", "-f"};

struct FoundNodes {
  std::string how;  // "ssh:n[1-2]"
  std::string why;
};
using MaybeNodes = Result<std::optional<FoundNodes>>;

bool is_in_path(const std::string& program) {
  const char* const path = std::getenv("PATH");
  const std::string all = path != nullptr ? path : "";
  return std::ranges::any_of(split(all, ':'), [&](std::string_view folder) {
    return ::access(fmt::format("{}/{}", folder, program).c_str(), X_OK) == 0;
  });
}

std::string value_of(const Environment& environment, std::string_view name) {
  return std::string(environment.find(name).value_or(""));
}

std::optional<FoundNodes> by_slurm(const JobRank& rank,
                                   const Environment& environment) {
  const std::string job = value_of(environment, "SLURM_JOB_ID");
  if (job.empty() || !is_in_path("srun")) {
    return std::nullopt;
  }
  return FoundNodes{"srun:" + job,
                    fmt::format("SLURM_JOB_ID of rank {}", rank.rank)};
}

MaybeNodes by_labels(const JobRank& rank, const Environment& environment) {
  const std::string pod = value_of(environment, "HOSTNAME");
  if (value_of(environment, "KUBERNETES_SERVICE_HOST").empty() || pod.empty() ||
      !is_in_path("kubectl")) {
    return std::nullopt;
  }
  const std::string label = label_of_job(
      TRY(output_of({"kubectl", "get", "pod", pod, "--output=json"})));
  return label.empty()
             ? std::nullopt
             : std::optional(FoundNodes{
                   "kubectl:" + label,
                   fmt::format("a label of rank {}'s pod", rank.rank)});
}

std::optional<FoundNodes> by_hostfile(const JobRank& rank) {
  ProcessTree above;
  add_with_ancestors(above, rank.pid);
  for (const int pid : ancestors(rank.pid, above)) {
    const auto folder = read_proc_link(pid, "cwd");
    std::string how =
        hosts_of_launcher(read_command_line(pid), folder ? *folder : "/");
    if (!how.empty()) {
      return FoundNodes{std::move(how), fmt::format("words of process {}, "
                                                    "which started rank {}",
                                                    pid, rank.rank)};
    }
  }
  return std::nullopt;
}

// Each address by its name, where it has one.
std::string names_of(const std::vector<std::string>& addresses) {
  std::vector<std::string> words = {"sh", "-c", "getent hosts \"$@\"; true",
                                    "sh"};
  words.insert(words.end(), addresses.begin(), addresses.end());
  std::map<std::string, std::string, std::less<>> names;
  const auto said = output_of(words);
  const std::string text = said ? *said : "";
  for (const std::string_view line : split(text, '\n')) {
    if (const auto fields = split_words(line); fields.size() > 1) {
      names.emplace(fields[0], fields[1]);
    }
  }
  std::vector<std::string> hosts;
  for (const std::string& address : addresses) {
    const auto name = names.find(address);
    hosts.push_back(name == names.end() ? address : name->second);
  }
  return fold_hosts(hosts);
}

// All ranks have a connection to the store; its host sees where from.
MaybeNodes by_store(const Job& job,
                    const JobRank& rank,
                    const Environment& environment,
                    Deadline deadline) {
  const std::string address = rendezvous_address(environment);
  const auto port = parse_number<std::uint16_t>(
      std::string_view(address).substr(address.rfind(':') + 1));
  const auto sockets = read_tcp_sockets(rank.pid, deadline);
  if (!port || !sockets) {
    return std::nullopt;
  }
  std::set<std::string> own, others, stores;
  for (const TcpSocket& socket : sockets->sockets) {
    if (socket.state != TcpState::Established || socket.remote.is_loopback() ||
        socket.remote.host_text() == socket.local.host_text()) {
      continue;
    }
    if (socket.local.port == *port) {
      own.insert(socket.local.host_text());
      others.insert(socket.remote.host_text());
    } else if (socket.remote.port == *port) {
      stores.insert(socket.remote.host_text());
    }
  }
  if (others.empty() && !stores.empty()) {
    return fail(ErrorId::Usage,
                fmt::format("the store of job {} is on {}: only there is to be "
                            "seen which nodes have ranks",
                            printable(job.id), *stores.begin()),
                fmt::format("ssh {} {}", *stores.begin(), typed_command()));
  }
  if (others.empty()) {
    return std::nullopt;
  }
  std::vector<std::string> all(own.begin(), own.end());
  all.resize(1);  // one address of this machine
  all.insert(all.end(), others.begin(), others.end());
  return FoundNodes{"ssh:" + names_of(all),
                    fmt::format("connected to the store of job {} here, port "
                                "{}",
                                printable(job.id), *port)};
}

// Each rank has the list of all.
std::optional<FoundNodes> by_nccl(const JobRank& rank) {
  const auto hosts = nccl_hosts(rank.pid);
  return !hosts || hosts->empty()
             ? std::nullopt
             : std::optional(FoundNodes{
                   "ssh:" + names_of(*hosts),
                   fmt::format("NCCL's peers, in rank {}", rank.rank)});
}

Result<FoundNodes> nodes_of(const Job& job, Deadline deadline) {
  const JobRank& rank = job.ranks.front();
  const Environment environment = TRY(Environment::read(rank.pid));
  const std::function<MaybeNodes()> ways[] = {
      [&] { return by_slurm(rank, environment); },
      [&] { return by_labels(rank, environment); },
      [&] { return by_hostfile(rank); }, [&] { return by_nccl(rank); },
      [&] { return by_store(job, rank, environment, deadline); }};
  for (const auto& way : ways) {
    if (const auto nodes = TRY(way())) {
      return *nodes;
    }
  }
  return fail(ErrorId::Usage,
              fmt::format("nothing here tells where the other ranks of {} are",
                          job_text(job)),
              typed_with("--via", "ssh:HOSTS"));
}

Result<FoundNodes> nodes_of_own_job(Deadline deadline) {
  const auto& typed = typed_words();
  const auto name = std::ranges::find(typed, "--job");
  const auto chosen = choose_ranks(
      {.job = name != typed.end() && name + 1 != typed.end() ? *(name + 1)
                                                             : "auto"},
      deadline);
  if (chosen) {
    return nodes_of(chosen->job, deadline);
  }
  // A shell within Slurm's job, on a node without ranks.
  if (const char* const job = std::getenv("SLURM_JOB_ID");
      job != nullptr && is_in_path("srun")) {
    return FoundNodes{std::string("srun:") + job, "SLURM_JOB_ID of this shell"};
  }
  return std::unexpected(
      Error{.id = chosen.error().id,
            .message = "--via auto: " + chosen.error().message,
            .hint = typed_with("--via", "ssh:HOSTS")});
}

}  // namespace

Result<std::unique_ptr<Launcher>> chosen_launcher(const ViaOption& via,
                                                  const CommonOptions& common) {
  if (via.how != "auto") {
    return make_launcher(via.how);
  }
  static std::optional<FoundNodes> found;  // a command may ask twice
  if (!found) {
    found = TRY(nodes_of_own_job(common.deadline()));
    say(stderr, "{}\n",
        Palette(common.colour, stderr)
            .dim(printable(
                fmt::format("--via {} ({})", found->how, found->why))));
  }
  return make_launcher(found->how);
}

std::string hosts_of_launcher(const std::vector<std::string>& words,
                              const std::string& folder) {
  const bool mpi = !words.empty() && (base_name(words[0]).starts_with("mpi") ||
                                      base_name(words[0]).starts_with("prte"));
  for (std::size_t at = 1; at < words.size(); ++at) {
    std::string_view name = words[at];
    std::string value = at + 1 < words.size() ? words[at + 1] : "";
    if (const auto equals = name.find('=');
        name.starts_with("--") && equals != std::string_view::npos) {
      value = name.substr(equals + 1);
      name = name.substr(0, equals);
    }
    const bool list = mpi && (name == "-host" || name == "--host" ||
                              name == "-H" || name == "-hosts");
    const bool file =
        !list && std::ranges::find(kHostFiles, name) != kHostFiles.end();
    const bool brief = name == "-f" || name == "-H";
    if (value.empty() || !(list || file) || (brief && !mpi)) {
      continue;
    }
    if (file) {
      return "ssh:^" + (value.starts_with('/') ? value : folder + "/" + value);
    }
    std::string hosts;
    for (const std::string_view host : split(value, ',')) {
      hosts += fmt::format("{}{}", hosts.empty() ? "" : ",",
                           host.substr(0, host.find(':')));
    }
    return "ssh:" + hosts;
  }
  return {};
}

std::string label_of_job(const std::string& pod) {
  const auto json = Json::parse(pod);
  const auto read =
      json ? decode<reports::Pod>(*json) : std::unexpected(json.error());
  if (read) {
    for (const std::string_view name : kJobLabels) {
      const auto label = read->metadata.labels.find(std::string(name));
      if (label != read->metadata.labels.end()) {
        return fmt::format("{}={}", name, label->second);
      }
    }
  }
  return {};
}

}  // namespace hangdbg
