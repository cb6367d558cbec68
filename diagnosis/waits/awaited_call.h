// In which collective of torch.distributed, or call of MPI, a thread waits for
// other ranks.
#pragma once

#include <optional>
#include <string>

#include "diagnosis/snapshot/process_snapshot.h"
#include "inspector/jobs/torch/collective_calls.h"

namespace hangdbg {

// By its frames: it is inside of such a call. For MPI by its C functions, which
// tell no group.
std::optional<CollectiveCall> awaited_call(const ProcessSnapshot& of,
                                           const ThreadSnapshot& thread);
// The first alone.
std::optional<CollectiveCall> torch_call(const ProcessSnapshot& of,
                                         const ThreadSnapshot& thread);

struct MpiCall {
  std::string function;  // "MPI_Recv"
  Address returns_to;    // 0 where that is not known
  bool operator==(const MpiCall&) const = default;
};
// A collective, or a call that waits to receive or send a message.
std::optional<MpiCall> mpi_call(const ProcessSnapshot& of,
                                const ThreadSnapshot& thread);

inline bool is_of_mpi(const CollectiveCall& call) {
  return call.function.starts_with("MPI_");
}
// It waits for a message of MPI: the sender is unknown.
bool is_message(const CollectiveCall& call);

// By what its process has started and not completed, where the thread waits in
// C code: for `work.wait()`, and for the gradients in a `backward()`.
std::optional<CollectiveCall> pending_call(const ProcessSnapshot& of,
                                           const ThreadSnapshot& thread);

}  // namespace hangdbg
