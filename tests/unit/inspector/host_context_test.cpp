// /proc and cgroup files, parsed; versions of libraries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "inspector/host/gpus.h"
#include "inspector/host/interfaces.h"
#include "inspector/host/known_hangs.h"
#include "inspector/host/libraries.h"
#include "inspector/host/library_version.h"
#include "inspector/host/unusual.h"
#include "tracee/host/cgroup_limits.h"
#include "tracee/host/cgroups.h"
#include "tracee/host/child_output.h"
#include "tracee/host/kernel_log.h"
#include "tracee/host/pressure.h"
#include "tracee/net/infiniband.h"
#include "tracee/proc/proc_limits.h"
#include "tracee/proc/proc_usage.h"
#include "tracee/proc/signals.h"

namespace hangdbg {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

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

TEST_F(CgroupTree, RoomWhereThereIsLeast) {
  EXPECT_FALSE(read_cgroup_memory_room(groups()));
  write("pod/memory.current", "1000\n");
  write("pod/memory.max", "1100\n");
  write("pod/memory.stat", "anon 1\ninactive_file 40\nactive_file 5\n");
  write("pod/main/memory.current", "900\n");
  write("pod/main/memory.max", "max\n");
  auto room = read_cgroup_memory_room(groups());
  ASSERT_TRUE(room);
  EXPECT_EQ(room->folder, root_ + "/pod");
  EXPECT_EQ(room->bytes, 145) << "with what is only cached";
  write("pod/main/memory.max", "850\n");
  room = read_cgroup_memory_room(groups());
  ASSERT_TRUE(room);
  EXPECT_EQ(room->folder, root_ + "/pod/main");
  EXPECT_EQ(room->bytes, 0) << "over its limit";
  EXPECT_TRUE(room->kills);
}

TEST_F(CgroupTree, RoomBelowWhereTheKernelSlowsDown) {
  write("pod/memory.current", "1000\n");
  write("pod/memory.max", "1100\n");
  write("pod/memory.high", "1010\n");
  write("pod/memory.stat", "anon 1\ninactive_file 2\nactive_file 3\n");
  auto room = read_cgroup_memory_room(groups());
  ASSERT_TRUE(room);
  EXPECT_EQ(room->bytes, 15);
  EXPECT_FALSE(room->kills);
  write("pod/memory.max", "max\n");
  room = read_cgroup_memory_room(groups());
  ASSERT_TRUE(room);
  EXPECT_EQ(room->bytes, 15) << "without another limit";
  EXPECT_FALSE(room->kills);
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
  EXPECT_EQ(signal_names(usage.shared_pending),
            std::vector<std::string>{"SIGTERM"});
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
      << "a text ends at its zero, as in C";
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

TEST(Unusual, AContextThatIsDead) {
  const auto error_of = [](int pid, int xid) {
    return KernelEvent{.kind = KernelEvent::Kind::GpuError,
                       .pid = pid,
                       .xid = xid,
                       .text = "NVRM: Xid"};
  };
  HostContext around{.pid = 12, .kernel_events = {error_of(12, 31)}};
  const auto dead = AllOf(HasSubstr("its CUDA context died"),
                          HasSubstr("by an error on the GPU (Xid 31)"));
  EXPECT_THAT(environment_warnings(around), Contains(dead));
  around.kernel_events = {error_of(13, 31), error_of(12, 79)};
  EXPECT_THAT(environment_warnings(around),
              Not(Contains(HasSubstr("its CUDA context"))))
      << "another process's, and one of the machine's";
}

TEST(KernelLog, Records) {
  const auto killed = parse_kernel_record(
      "6,812,5000000,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),"
      "oom_memcg=/jobs,task_memcg=/jobs/7,task=python3,pid=4242,uid=0\n "
      "SUBSYSTEM=x\n");
  ASSERT_TRUE(killed);
  EXPECT_EQ(killed->kind, KernelEvent::Kind::KilledForMemory);
  EXPECT_EQ(killed->pid, 4242);
  EXPECT_EQ(killed->name, "python3");
  EXPECT_EQ(killed->cgroup, "/jobs/7");
  EXPECT_EQ(killed->at_s, 5);
  const auto gpu = parse_kernel_record(
      "4,1,2000000,-;NVRM: Xid (PCI:0000:65:00): 79, pid='77', name=python, "
      "GPU has fallen off the bus.\n");
  ASSERT_TRUE(gpu);
  EXPECT_EQ(gpu->kind, KernelEvent::Kind::GpuError);
  EXPECT_EQ(gpu->pid, 77);
  EXPECT_EQ(gpu->xid, 79);
  const auto blocked = parse_kernel_record(
      "3,1,2000000,-;INFO: task a:b:12 blocked for more than 122 seconds.\n");
  ASSERT_TRUE(blocked);
  EXPECT_EQ(blocked->pid, 12);
  EXPECT_EQ(blocked->name, "a:b");
  EXPECT_FALSE(parse_kernel_record("6,1,2,-;usb 1-1: new device\n"));
  EXPECT_FALSE(parse_kernel_record("oom-kill:pid=1"));
  EXPECT_FALSE(parse_kernel_record(""));
}

TEST(Infiniband, PortsWithTheirErrors) {
  const std::string root = testing::TempDir() + "infiniband";
  std::filesystem::remove_all(root);
  const auto write = [&](const std::string& file, std::string_view text) {
    const std::filesystem::path path = root + "/mlx5_0/ports/1/" + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  };
  write("state", "4: ACTIVE\n");
  write("phys_state", "5: LinkUp\n");
  write("rate", "200 Gb/sec (4X HDR)\n");
  write("link_layer", "InfiniBand\n");
  write("counters/link_downed", "3\n");
  write("counters/symbol_error", "0\n");
  write("hw_counters/out_of_sequence", "12\n");
  const auto ports = read_infiniband(root);
  ASSERT_EQ(ports.size(), 1);
  EXPECT_EQ(ports[0].device, "mlx5_0");
  EXPECT_EQ(ports[0].port, 1);
  EXPECT_EQ(ports[0].state, "ACTIVE");
  EXPECT_EQ(ports[0].physical, "LinkUp");
  EXPECT_THAT(ports[0].errors, ElementsAre(std::pair("link_downed", 3),
                                           std::pair("out_of_sequence", 12)));
  EXPECT_THAT(
      environment_warnings({.infiniband = ports}),
      ElementsAre("InfiniBand: port 1 of mlx5_0 lost its link 3 times"));
  write("state", "1: DOWN\n");
  EXPECT_THAT(environment_warnings({.infiniband = read_infiniband(root)}),
              ElementsAre("InfiniBand: port 1 of mlx5_0 is DOWN, LinkUp, and "
                          "lost its link 3 times"));
  write("phys_state", "2: Polling\n");
  EXPECT_THAT(environment_warnings({.infiniband = read_infiniband(root)}),
              ElementsAre("InfiniBand: port 1 of mlx5_0 is DOWN, Polling, and "
                          "lost its link 3 times"));
  write("counters/link_downed", "0\n");
  EXPECT_THAT(environment_warnings({.infiniband = read_infiniband(root)}),
              IsEmpty())
      << "no cable";
  std::filesystem::remove_all(root);
  EXPECT_THAT(read_infiniband(root), IsEmpty());
}

TEST(Gpus, AsTheProgramSays) {
  auto gpus = parse_gpus(
      "1, GPU-b, NVIDIA A100-SXM4-80GB, [N/A], 3, 81920\n"
      "0, GPU-a, NVIDIA A100-SXM4-80GB, 100, 4321, 81920\nNo devices\n");
  take_process_memory("12, GPU-a, 4096\n12, GPU-a, 4\n13, GPU-b, 7\n", 12,
                      gpus);
  ASSERT_EQ(gpus.size(), 2);
  EXPECT_EQ(gpus[0].busy_percent, 100);
  EXPECT_EQ(gpus[0].process_mib, 4100);
  EXPECT_EQ(gpus[1].busy_percent, std::nullopt);
  EXPECT_EQ(gpus[1].process_mib, std::nullopt);
}

TEST(Interfaces, ThoseThatVariablesName) {
  const auto interfaces = parse_network_interfaces(
      "Inter-|   Receive                            |  Transmit\n"
      " face |bytes    packets errs drop fifo frame compressed multicast|bytes "
      "packets errs drop fifo colls carrier compressed\n"
      "    lo: 1 2 0 0 0 0 0 0 1 2 0 0 0 0 0 0\n"
      "  eth0: 1 2 5 0 0 0 0 0 1 2 7 0 0 0 0 0\n");
  ASSERT_EQ(interfaces.size(), 2);
  EXPECT_EQ(interfaces[1].name, "eth0");
  EXPECT_EQ(interfaces[1].receive_errors, 5);
  EXPECT_EQ(interfaces[1].send_errors, 7);
  const auto missing = [&](const char* name, const char* value) {
    return missing_interfaces({{name, value}}, interfaces).size();
  };
  EXPECT_EQ(missing("NCCL_SOCKET_IFNAME", "eth"), 0);
  EXPECT_EQ(missing("NCCL_SOCKET_IFNAME", "=eth"), 1);
  EXPECT_EQ(missing("NCCL_SOCKET_IFNAME", "ib,eth0"), 0);
  EXPECT_EQ(missing("NCCL_SOCKET_IFNAME", "^docker"), 0);
  EXPECT_EQ(missing("GLOO_SOCKET_IFNAME", "eth"), 1);
  EXPECT_EQ(missing("GLOO_SOCKET_IFNAME", "eth0"), 0);
}

TEST(KnownHangs, ByVersionsAndVariables) {
  EXPECT_TRUE(comes_before("2.9.9", "2.10"));
  EXPECT_TRUE(comes_before("2.14.3+cuda11.7", "2.17"));
  EXPECT_FALSE(comes_before("2.17.1", "2.17"));
  const Library nccl{.family = "NCCL", .name = "NCCL", .version = "2.14.3"};
  EXPECT_THAT(known_hangs({nccl}, {}), IsEmpty());
  EXPECT_THAT(known_hangs({nccl}, {{"CUDA_LAUNCH_BLOCKING", "1"}}),
              ElementsAre(HasSubstr("NCCL 2.14.3 hangs under CUDA_LAUNCH")));
  const Library later{.family = "NCCL", .name = "NCCL", .version = "2.26.2"};
  EXPECT_THAT(known_hangs({later}, {}), IsEmpty());
  EXPECT_THAT(
      known_hangs({later, {.family = "torch", .version = "2.7.0+cu126"}}, {}),
      ElementsAre(HasSubstr("TORCH_NCCL_USE_COMM_NONBLOCKING")));
}

TEST(ChildOutput, WithinATime) {
  using std::chrono::seconds;
  const auto said = output_of({"echo", "a", "b"}, Deadline::in(seconds(10)));
  ASSERT_TRUE(said);
  EXPECT_EQ(*said, "a b\n");
  EXPECT_FALSE(output_of({"false"}, Deadline::in(seconds(10))));
  const auto none =
      output_of({"no-such-program-here"}, Deadline::in(seconds(10)));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().errno_value, ENOENT);
  const auto late =
      output_of({"sleep", "100"}, Deadline::in(std::chrono::milliseconds(100)));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().id, ErrorId::TimedOut);
}

}  // namespace
}  // namespace hangdbg
