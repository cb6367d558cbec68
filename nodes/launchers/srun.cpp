// srun[:JOB[.STEP]]. One task on each node of a Slurm job that runs, beside its
// own tasks. Without a job: that in which we are.
#include <fmt/core.h>

#include <cstdlib>
#include <utility>

#include "base/text.h"
#include "nodes/hosts/host_list.h"
#include "nodes/launchers/launcher.h"
#include "nodes/launchers/listed.h"

namespace hangdbg {
namespace {

class Srun : public Launcher {
 public:
  Srun(std::vector<std::string> nodes, std::string job)
      : Launcher(std::move(nodes)), job_(std::move(job)) {}

  bool one_for_all() const override { return true; }

  std::vector<std::string> words(const std::vector<std::string>& nodes,
                                 const std::string& script) const override {
    return {"srun",
            "--overlap",
            "--quiet",
            "--jobid=" + job_,
            fmt::format("--nodes={}", nodes.size()),
            fmt::format("--ntasks={}", nodes.size()),
            "--ntasks-per-node=1",
            "--nodelist=" + fold_hosts(nodes),
            "--gres=none",
            "--kill-on-bad-exit=0",
            "--wait=0",
            "sh",
            "-c",
            script};
  }
  std::vector<std::string> terminal_words(
      const std::string& node,
      const std::string& script) const override {
    return {"srun",
            "--overlap",
            "--quiet",
            "--pty",
            "--jobid=" + job_,
            "--nodes=1",
            "--ntasks=1",
            "--nodelist=" + node,
            "--gres=none",
            "sh",
            "-c",
            script};
  }

 private:
  std::string job_;
};

}  // namespace

MadeLauncher make_srun(std::string_view job) {
  std::string_view name = job.substr(0, job.find('.'));
  if (name.empty()) {
    const char* const own = std::getenv("SLURM_JOB_ID");
    name = own != nullptr ? own : "";
  }
  if (name.empty() || name.find_first_not_of("0123456789_+") != name.npos) {
    return fail(ErrorId::Usage,
                name.empty()
                    ? "no Slurm job was named, and this is none"
                    : fmt::format("\"{}\" is no Slurm job", printable(job)),
                "--via srun:JOBID");
  }
  const std::string nodes =
      TRY(output_of({"squeue", "--noheader",
                     job.find('.') == job.npos ? fmt::format("--jobs={}", name)
                                               : fmt::format("--steps={}", job),
                     "--format=%N"}));
  if (trim(nodes).empty()) {
    return fail(ErrorId::NoSuchProcess,
                fmt::format("Slurm job {} has no nodes: it does not run", name),
                "squeue");
  }
  return std::make_unique<Srun>(
      TRY(parse_hosts(split(trim(nodes), '\n').front())), std::string(name));
}

}  // namespace hangdbg
