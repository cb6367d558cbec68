// What /proc and cgroups say, taken apart; versions of libraries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "inspector/surroundings/libraries.h"
#include "inspector/surroundings/library_version.h"
#include "inspector/surroundings/unusual.h"
#include "tracee/cgroup_limits.h"
#include "tracee/cgroups.h"
#include "tracee/pressure.h"
#include "tracee/proc_limits.h"
#include "tracee/proc_usage.h"

namespace hangdbg {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kHybrid =
    "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup "
    "rw,cpu,cpuacct\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

TEST(Cgroups, EachControllerInItsHierarchy) {
  const auto groups = Cgroups::parse(
      "4:memory:/jobs/7\n1:cpu,cpuacct:/\n3:name=systemd:/x\n0::/scope\nbad\n",
      kHybrid);
  ASSERT_NE(groups.find("memory"), nullptr);
  EXPECT_EQ(groups.find("memory")->folder, "/sys/fs/cgroup/memory/jobs/7");
  EXPECT_THAT(
      groups.find("memory")->folders(),
      ElementsAre("/sys/fs/cgroup/memory/jobs/7", "/sys/fs/cgroup/memory/jobs",
                  "/sys/fs/cgroup/memory"));
  EXPECT_EQ(groups.find("cpu")->folder, "/sys/fs/cgroup/cpu");
  EXPECT_THAT(groups.find("cpu")->folders(), ElementsAre("/sys/fs/cgroup/cpu"));
  // Where version 1 does not have it, version 2 may.
  EXPECT_EQ(groups.find("pids")->folder, "/sys/fs/cgroup/unified/scope");
  EXPECT_TRUE(groups.find("pids")->unified);
}

TEST(Cgroups, InAContainerWhoseRootIsNotTheFirst) {
  const auto groups = Cgroups::parse(
      "0::/docker/ab/inner\n",
      "41 31 0:38 /docker/ab /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  EXPECT_EQ(groups.unified()->folder, "/sys/fs/cgroup/inner");
  EXPECT_EQ(Cgroups::parse("0::/docker/abc\n",
                           "41 31 0:38 /docker/ab /sys/fs/cgroup rw - cgroup2 "
                           "cgroup2 rw\n")
                .unified(),
            nullptr);
  EXPECT_EQ(Cgroups::parse("", kHybrid).find("memory"), nullptr);
}

class CgroupTree : public testing::Test {
 protected:
  CgroupTree() {
    root_ = testing::TempDir() + "cgroup_tree";
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ + "/pod/main");
  }
  ~CgroupTree() override { std::filesystem::remove_all(root_); }

  void write(const std::string& file, std::string_view text) {
    std::ofstream(root_ + "/" + file) << text;
  }
  Cgroups groups() const {
    return Cgroups::parse("0::/pod/main\n",
                          "1 1 0:1 / " + root_ + " rw - cgroup2 cgroup2 rw\n");
  }

  std::string root_;
};

TEST_F(CgroupTree, MemoryOfTheGroupThatIsNearestToItsLimit) {
  write("pod/memory.current", "1000\n");
  write("pod/memory.max", "1001\n");
  write("pod/memory.high", "max\n");
  write("pod/memory.stat", "anon 1\ninactive_file 4\n");
  write("pod/memory.events", "low 0\nhigh 2\nmax 3\noom 0\noom_kill 9\n");
  write("pod/main/memory.current", "900\n");
  write("pod/main/memory.max", "max\n");
  write("pod/main/memory.high", "2000\n");
  write("pod/main/memory.events", "oom_kill 1\n");
  const auto memory = read_cgroup_memory(groups());
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->folder, root_ + "/pod");
  EXPECT_EQ(memory->max, 1001);
  EXPECT_EQ(memory->high, std::nullopt);
  EXPECT_EQ(memory->reached, 5);
  EXPECT_EQ(memory->oom_kills, 1) << "of its own group";
  EXPECT_NEAR(memory->used(), 996.0 / 1001, 1e-9);
}

TEST_F(CgroupTree, CpusAndThrottling) {
  write("pod/cpu.max", "50000 100000\n");
  write("pod/cpu.stat", "nr_periods 10\nnr_throttled 4\nthrottled_usec 70\n");
  write("pod/main/cpu.max", "max 100000\n");
  write("pod/main/cpu.stat", "usage_usec 1\n");
  auto cpu = read_cgroup_cpu(groups());
  ASSERT_TRUE(cpu);
  EXPECT_EQ(cpu->cpus, 0.5);
  EXPECT_EQ(cpu->throttled.count(), 70);
  CgroupCpu later = *cpu;
  later.periods += 4;
  later.throttled_periods += 3;
  const auto window = std::chrono::milliseconds(400);
  EXPECT_EQ(throttling_between(*cpu, later, window).share, 0.75);
  EXPECT_EQ(throttling_between(later, *cpu, window).share, 0);
}

TEST_F(CgroupTree, ProcessesAndWhatIsNotThere) {
  EXPECT_FALSE(read_cgroup_pids(groups()));
  EXPECT_FALSE(read_cgroup_memory(groups()));
  EXPECT_FALSE(read_cgroup_cpu(groups()));
  write("pod/main/pids.current", "7\n");
  write("pod/main/pids.max", "8\n");
  write("pod/main/pids.events", "max 2\n");
  const auto pids = read_cgroup_pids(groups());
  ASSERT_TRUE(pids);
  EXPECT_EQ(pids->current, 7);
  EXPECT_EQ(pids->max, 8);
  EXPECT_EQ(pids->refused, 2);
}

TEST(Pressure, BothLines) {
  const auto pressure = parse_pressure(
      "some avg10=50.52 avg60=59.07 avg300=44.75 total=236067633\n"
      "full avg10=1.50 avg60=0.00 avg300=0.12 total=7\n");
  ASSERT_TRUE(pressure);
  EXPECT_EQ(pressure->some.avg10, 50.52);
  EXPECT_EQ(pressure->some.total_us, 236067633);
  EXPECT_EQ(pressure->full.avg10, 1.5);
  EXPECT_EQ(pressure->full.avg300, 0.12);
  EXPECT_FALSE(parse_pressure(""));
}

TEST(ProcLimits, SoftOnes) {
  const auto limits = parse_limits(
      "Limit                     Soft Limit           Hard Limit           "
      "Units     \n"
      "Max file size             unlimited            unlimited            "
      "bytes     \n"
      "Max processes             96365                96366                "
      "processes \n"
      "Max open files            1024                 524288               "
      "files     \n");
  EXPECT_EQ(limits.file_size, std::nullopt);
  EXPECT_EQ(limits.processes, 96365);
  EXPECT_EQ(limits.open_files, 1024);
}

TEST(ProcUsage, OfItsStatus) {
  const auto usage = parse_usage(
      "Name:\tx\nVmRSS:\t  14188 kB\nVmSwap:\t 12 kB\nSigPnd:\t"
      "0000000000000000\nShdPnd:\t0000000000004000\n");
  EXPECT_EQ(usage.resident_kib, 14188);
  EXPECT_EQ(usage.swapped_kib, 12);
  EXPECT_EQ(signals_text(usage.shared_pending), "SIGTERM");
}

TEST(LibraryVersion, InNamesPackagesAndConstants) {
  EXPECT_EQ(version_in_name("/x/libcudart.so.12.4.127"), "12.4.127");
  EXPECT_EQ(version_in_name("/x/libnccl.so.2"), std::nullopt);
  EXPECT_EQ(version_in_name("/x/libcuda.so"), std::nullopt);
  const std::vector<std::string> entries = {
      "nvidia_nccl_cu12-2.21.5.dist-info", "torch-2.1.0+cu118.dist-info",
      "torchvision-0.1.dist-info", "llvm-openmp-14.0.6-h9e868ea_0.json"};
  EXPECT_EQ(version_in_entries(entries, "nvidia_nccl"), "2.21.5");
  EXPECT_EQ(version_in_entries(entries, "torch"), "2.1.0+cu118");
  EXPECT_EQ(version_in_entries(entries, "llvm-openmp"), "14.0.6");
  EXPECT_EQ(version_in_entries(entries, "numpy"), std::nullopt);
  EXPECT_EQ(version_after("NCCL version %d\0NCCL version 2.14.3+cuda11.7\n",
                          "NCCL version "),
            std::nullopt)
      << "a text ends at its zero, as C has it";
  EXPECT_EQ(version_after("NCCL version %d, NCCL version 2.14.3+cuda11.7\n",
                          "NCCL version "),
            "2.14.3+cuda11.7");
}

TEST(LibraryClashes, OnlyWhereThereShouldBeOne) {
  EXPECT_THAT(library_clashes({{"OpenBLAS", "OpenBLAS", "/a/libopenblas.so"},
                               {"OpenBLAS", "OpenBLAS", "/b/libopenblas.so"},
                               {"OpenMP", "GNU OpenMP", "/a/libgomp.so.1"}}),
              IsEmpty());
  EXPECT_THAT(library_clashes({{"NCCL", "NCCL", "/a/libnccl.so.2"},
                               {"NCCL", "NCCL", "/b/libnccl.so.2"}}),
              ElementsAre("2 of NCCL are loaded: libnccl.so.2 in /a, "
                          "libnccl.so.2 in /b"));
  EXPECT_THAT(
      library_clashes(
          {{.family = "MKL", .path = "/a/libmkl_rt.so", .deleted = true}}),
      ElementsAre(HasSubstr("deleted or replaced")));
}

}  // namespace
}  // namespace hangdbg
