// How `--via auto` finds other nodes.
#include "client/nodes/own_job.h"

#include <gtest/gtest.h>

namespace hangdbg {
namespace {

std::string hosts(const std::vector<std::string>& words) {
  return hosts_of_launcher(words, "/job");
}

TEST(OwnJob, HostsAreInTheLaunchersWords) {
  EXPECT_EQ(hosts({"mpirun", "--hostfile", "hosts", "-n", "8", "python"}),
            "ssh:^/job/hosts");
  EXPECT_EQ(hosts({"/opt/bin/mpiexec", "-f", "/etc/hosts.mpi", "python"}),
            "ssh:^/etc/hosts.mpi");
  EXPECT_EQ(hosts({"python", "/bin/deepspeed", "--hostfile=hosts", "t.py"}),
            "ssh:^/job/hosts");
  EXPECT_EQ(hosts({"mpirun", "-host", "n1:2,n2:2", "python"}), "ssh:n1,n2");
  EXPECT_EQ(hosts({"mpirun.openmpi", "-H", "n1", "python"}), "ssh:n1");
}

TEST(OwnJob, OtherProgramsMeanOtherThings) {
  EXPECT_EQ(hosts({"tail", "-f", "log"}), "");
  EXPECT_EQ(hosts({"curl", "-H", "Accept: x"}), "");
  EXPECT_EQ(hosts({"mpirun", "-n", "4", "python"}), "");
  EXPECT_EQ(hosts({"mpirun", "--hostfile"}), "");
  EXPECT_EQ(hosts({}), "");
}

TEST(OwnJob, TheLabelThatAJobsPodsShare) {
  EXPECT_EQ(label_of_job(R"({"metadata": {"labels": {"app": "train",
                "training.kubeflow.org/job-name": "run-7",
                "pod-template-hash": "5d4"}}})"),
            "training.kubeflow.org/job-name=run-7");
  EXPECT_EQ(label_of_job(R"({"metadata": {"labels": {"app": "train"}}})"),
            "app=train");
  EXPECT_EQ(label_of_job(R"({"metadata": {}})"), "");
  EXPECT_EQ(label_of_job("no JSON"), "");
}

}  // namespace
}  // namespace hangdbg
