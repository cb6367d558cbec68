// The rules of the diagnosis about C code: CUDA, NCCL, MPI, torch's backward
// pass, OpenMP, and the GIL; on processes that are made up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include "diagnosis/diagnose.h"
#include "tests/unit/support/made_up_cases.h"

namespace hangdbg {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kCudart = "libcudart.so.12";
constexpr const char* kNccl = "libnccl.so.2";

// It is asleep in that function of a library, which has been loaded.
MadeUpProcess& in_library(MadeUpSystem& system,
                          const std::string& library,
                          const std::vector<std::string>& functions,
                          long call = SYS_semtimedop) {
  system.may_watch = true;  // its own sleep tells how long
  auto& one = system.python(kOne);
  one.sleeps_in(call, {}, own_frames());
  one.loads("/usr/lib/" + library);
  one.is_in(one.threads.front(), functions, library);
  return one;
}

MadeUpProcess& in_cuda(MadeUpSystem& system, const std::string& function) {
  return in_library(system, kCudart, {function, "work"});
}

ThreadSnapshot& thread_of_c(MadeUpProcess& one, const std::string& name) {
  ThreadSnapshot& thread = one.sleeps_in(SYS_semtimedop, {});
  thread.name = thread.wait.name = name;
  return thread;
}

void given_to_nccl(MadeUpProcess& one, std::int64_t completed) {
  one.groups.groups = {
      {.name = "0",
       .backends = {
           {.type = "ProcessGroupNCCL",
            .has_status = true,
            .enqueued = NumberedCollective{3, "ALLREDUCE"},
            .completed = NumberedCollective{completed, "ALLREDUCE"}}}}};
}

MadeUpProcess& in_backward(MadeUpSystem& system, const std::string& function) {
  auto& one = in_library(system, "libtorch_cpu.so",
                         {"c10::ivalue::Future::wait()",
                          "torch::autograd::Engine::execute(std::vector<...>)"},
                         SYS_futex);
  auto& device = thread_of_c(one, "pt_autograd_0");
  one.is_in(device, {function}, "libtorch_cpu.so");
  return one;
}

MadeUpProcess& in_openmp(MadeUpSystem& system,
                         const std::string& library = "libgomp.so.1") {
  auto& one = in_library(system, library, {"gomp_team_start", "GOMP_parallel"});
  one.status.ppid = one.parent = kOther;
  return one;
}

// One thread of it holds the GIL, and its first waits for that.
MadeUpProcess& at_gil(MadeUpSystem& system, std::uint64_t futex_at) {
  auto& one = system.python(kOne);
  one.sleeps_in(SYS_futex, {futex_at, FUTEX_WAIT_BITSET_PRIVATE}, own_frames());
  one.sleeps_in(SYS_clock_nanosleep, {}, own_frames());
  one.gil = GilState{.locked = true,
                     .locked_word = Address{0x1000},
                     .holder = Address{0x2000},
                     .holder_tid = one.threads[1].id.tid};
  return one;
}

}  // namespace

const std::vector<MadeUpCase>& native_cases() {
  using enum Progress;
  using enum Confidence;
  static const std::vector<MadeUpCase> kCases = {
      // ---- CUDA
      {"cuda_synchronize", CauseId::CudaSynchronize, Blocked, Likely, true,
       "waits for the GPU, in cudaStreamSynchronize (libcudart.so.12): what it",
       [](auto& system) { in_cuda(system, "cudaStreamSynchronize"); }},
      {"cuda_launch", CauseId::CudaSynchronize, Blocked, Likely, true,
       "waits for the GPU, in cudaLaunchKernel",
       [](auto& system) { in_cuda(system, "cudaLaunchKernel"); }},
      {"cuda_copy", CauseId::CudaSynchronize, Blocked, Likely, true,
       "in cudaMemcpyAsync",
       [](auto& system) { in_cuda(system, "cudaMemcpyAsync"); }},
      {"cuda_allocation", CauseId::CudaSynchronize, Blocked, Likely, true,
       "in cudaHostAlloc",
       [](auto& system) { in_cuda(system, "cudaHostAlloc"); }},
      {"cuda_in_a_library_of_its_own", CauseId::CudaSynchronize, Blocked,
       Likely, true, "in cudaEventSynchronize (libtorch_cuda.so)",
       [](auto& system) {
         auto& one =
             in_library(system, "libtorch_cuda.so", {"cudaEventSynchronize"});
         one.loads("/usr/lib/libcuda.so.1");
       }},
      {"cuda_loads_code", CauseId::CudaSynchronize, Blocked, Likely, true,
       "in cuModuleLoadData (libcuda.so.1)",
       [](auto& system) {
         in_library(system, "libcuda.so.1", {"cuModuleLoadData"});
       }},
      {"cuda_compiles", CauseId::Unknown, Unknown, Possible, true, "",
       [](auto& system) {
         auto& one = in_library(system, "libnvidia-ptxjitcompiler.so.1",
                                {"__cuda_CallJitEntryPoint"});
         one.loads("/usr/lib/libcuda.so.1");
         one.is_in(one.threads.front(), {"cuModuleLoadDataEx"}, "libcuda.so.1");
       }},
      {"cuda_makes_a_context", CauseId::Unknown, Unknown, Possible, true, "",
       [](auto& system) { in_cuda(system, "cudaSetDevice"); }},
      {"a_function_of_another_library", CauseId::Unknown, Unknown, Possible,
       true, "",
       [](auto& system) {
         auto& one = in_library(system, "libwork.so", {"cuMemcpyOfOurs"});
         one.loads("/usr/lib/libcuda.so.1");
       }},
      {"cuda_is_not_loaded", CauseId::Unknown, Unknown, Possible, true, "",
       [](auto& system) {
         in_library(system, "libwork.so", {"cudaStreamSynchronize"});
       }},
      {"cuda_keeps_the_gil", CauseId::CudaSynchronize, Blocked, Likely, true,
       "in cudaFree (libcudart.so.12), and keeps the GIL:",
       [](auto& system) {
         in_cuda(system, "cudaFree").gil =
             GilState{.locked = true, .holder_tid = kOne};
       }},
      {"torchs_watchdog_has_ended", CauseId::NcclThreadGone, Blocked, Likely,
       true, "a thread of torch's watchdog of NCCL has ended",
       [](auto& system) {
         auto& one = in_cuda(system, "cudaDeviceSynchronize");
         for (const char* const name :
              {"pt_nccl_heartbt", "pt_nccl_watchdg", "pt_nccl_heartbt"}) {
           thread_of_c(one, name);
         }
       }},
      {"nccls_service_has_ended", CauseId::NcclThreadGone, Blocked, Likely,
       true, "a thread of NCCL's proxy service has ended",
       [](auto& system) {
         thread_of_c(in_cuda(system, "cudaDeviceSynchronize"),
                     "NCCL Progress 0");
       }},
      {"all_threads_of_nccl_are_there", CauseId::CudaSynchronize, Blocked,
       Likely, true, "waits for the GPU",
       [](auto& system) {
         auto& one = in_cuda(system, "cudaDeviceSynchronize");
         for (const char* const name : {"pt_nccl_heartbt", "pt_nccl_watchdg",
                                        "NCCL Service  0", "NCCL Progress 0"}) {
           thread_of_c(one, name);
         }
       }},
      // ---- NCCL
      {"nccl_makes_a_communicator", CauseId::NcclInit, Blocked, Likely, true,
       "waits in ncclCommInitRank (libnccl.so.2) for the other ranks to come",
       [](auto& system) {
         in_library(system, kNccl, {"poll", "ncclCommInitRank"});
       }},
      {"nccl_ends_a_communicator", CauseId::NcclInit, Blocked, Likely, true,
       "waits in ncclCommDestroy (libnccl.so.2) for NCCL, which does not",
       [](auto& system) { in_library(system, kNccl, {"pncclCommDestroy"}); }},
      {"nccl_enqueues", CauseId::Unknown, Unknown, Possible, true, "",
       [](auto& system) { in_library(system, kNccl, {"ncclAllReduce"}); }},
      // ---- collectives without a frame that tells
      {"a_collective_in_c_code", CauseId::Collective, Blocked, Likely, true,
       "waits in ALLREDUCE of group 0 for the other ranks",
       [](auto& system) {
         system.ranks_apart = true;
         auto& one = system.python(kOne);
         one.sleeps_in(SYS_futex, {}, own_frames());
         given_to_nccl(one, 2);
       }},
      {"a_collective_that_is_over", CauseId::Unknown, Unknown, Possible, true,
       "",
       [](auto& system) {
         system.ranks_apart = true;
         auto& one = system.python(kOne);
         one.sleeps_in(SYS_futex, {}, own_frames());
         given_to_nccl(one, 3);
       }},
      {"a_barrier_of_mpi", CauseId::Collective, Blocked, Possible, true,
       "waits in MPI_Barrier for the other ranks",
       [](auto& system) {
         system.ranks_apart = true;
         in_library(system, "libmpi.so.40", {"opal_progress", "PMPI_Barrier"});
       }},
      {"a_message_of_mpi", CauseId::MpiMessage, Blocked, Possible, true,
       "waits in MPI_Recv for a message to come or to go",
       [](auto& system) {
         system.ranks_apart = true;
         in_library(system, "libmpi.so.40", {"opal_progress", "MPI_Recv"});
       }},
      {"prepares_a_message_of_mpi", CauseId::Unknown, Unknown, Possible, true,
       "",
       [](auto& system) {
         system.ranks_apart = true;
         in_library(system, "libmpi.so.40", {"MPI_Recv_init"});
       }},
      {"reduces_by_itself", CauseId::Unknown, Unknown, Possible, true, "",
       [](auto& system) {
         system.ranks_apart = true;
         in_library(system, "libmpi.so.40", {"MPI_Reduce_local"});
       }},
      // ---- torch's backward pass
      {"a_backward_pass", CauseId::Backward, Blocked, Likely, true,
       "waits for its backward pass, in thread 99999902 \"pt_autograd_0\"",
       [](auto& system) {
         in_backward(system, "torch::autograd::Engine::evaluate_function(...)");
       }},
      {"a_backward_pass_at_rest", CauseId::Unknown, Unknown, Possible, true, "",
       [](auto& system) {
         in_backward(system, "torch::autograd::Engine::thread_main(...)");
       }},
      // ---- OpenMP
      {"openmp_across_fork", CauseId::OpenmpFork, Stuck, Certain, true,
       "waits in OpenMP for threads that stayed behind when process 99999902",
       [](auto& system) { in_openmp(system); }},
      {"openmp_without_names", CauseId::OpenmpFork, Stuck, Certain, true, "",
       [](auto& system) {
         auto& one = in_openmp(system, "libiomp5.so");
         one.calls.clear();
         one.is_in(one.threads.front(), {""}, "libiomp5.so");
       }},
      {"openmp_not_forked", CauseId::Unknown, Unknown, Possible, true, "",
       [](auto& system) { in_openmp(system).parent = 0; }},
      {"openmp_far_out", CauseId::Unknown, Unknown, Possible, true, "",
       [](auto& system) {
         auto& one = in_openmp(system);
         one.calls.clear();
         one.is_in(one.threads.front(), {"a", "b", "c", "d"}, "libwork.so");
         one.is_in(one.threads.front(), {"GOMP_parallel"}, "libgomp.so.1");
       }},
      // ---- the GIL
      {"waits_for_the_gil", CauseId::Gil, Blocked, Certain, true,
       "waits for the GIL, held by thread 99999902",
       [](auto& system) { at_gil(system, 0x1010); }},
      {"waits_for_what_is_not_the_gil", CauseId::Unknown, Unknown, Possible,
       true, "", [](auto& system) { at_gil(system, 0x1100); }},
      {"the_gil_is_free", CauseId::Unknown, Unknown, Possible, true, "",
       [](auto& system) { at_gil(system, 0x1010).gil->locked = false; }},
      {"there_is_no_gil", CauseId::Unknown, Unknown, Possible, true, "",
       [](auto& system) { at_gil(system, 0x1010).gil.reset(); }},
  };
  return kCases;
}

INSTANTIATE_MADE_UP(Native, native_cases);

namespace {

TEST(Causes, WhatIsSaidOfAWaitForTheGpu) {
  MadeUpSystem system;
  auto& one = in_cuda(system, "cudaDeviceSynchronize");
  given_to_nccl(one, 2);
  const Cause cause = cause_of(system, kOne);
  EXPECT_THAT(cause.evidence, Contains(HasSubstr("asleep in it for 60.0 s")));
  EXPECT_THAT(cause.evidence,
              Contains(HasSubstr("torch has given ALLREDUCE 3 of group 0")));
  EXPECT_EQ(cause.next.front().command, "hangdbg dist --job auto");
}

TEST(Causes, AGpuThatIsNotWatchedIsLessSure) {
  MadeUpSystem system;
  in_cuda(system, "cudaDeviceSynchronize");
  system.may_watch = false;
  EXPECT_EQ(cause_of(system, kOne).confidence, Confidence::Possible);
}

TEST(Causes, ABackwardPassThatWaitsForTheGpu) {
  MadeUpSystem system;
  auto& one = in_backward(system, "cudaLaunchKernel");
  one.is_in(one.threads[1], {"torch::autograd::Engine::evaluate_function(...)"},
            "libtorch_cpu.so");
  one.loads("/usr/lib/libcudart.so.12");
  const auto found = diagnose(system, kOne, 10);
  EXPECT_TRUE(found->stalled);
  EXPECT_EQ(found->chain.front().cause.id, CauseId::Backward);
  EXPECT_EQ(found->cause.id, CauseId::CudaSynchronize);
  EXPECT_THAT(
      found->cause.evidence,
      Contains("called by C code of thread 99999902 \"pt_autograd_0\""));
}

TEST(Causes, ThreadsOfOpenMPThatAreInTheParent) {
  MadeUpSystem system;
  in_openmp(system);
  auto& parent = system.python(kOther);
  parent.loads("/usr/lib/libgomp.so.1", Address{0x1000}, Address{0x2000});
  parent.sleeps_in(SYS_futex, {}, own_frames());
  parent.sleeps_in(SYS_futex, {}).wait.call.pc = Address{0x1800};
  EXPECT_THAT(cause_of(system, kOne).evidence,
              Contains("1 of that one's threads are in OpenMP's pool"));
}

}  // namespace
}  // namespace hangdbg
