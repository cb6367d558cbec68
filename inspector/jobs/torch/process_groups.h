// The process groups of torch.distributed that a process is in, read from its
// memory: their names, backends and ranks as distributed_c10d keeps them, and
// how far each has come, as the C++ objects behind them count it.
//
// A backend counts what it has begun; gloo its collectives apart from what it
// sends and receives. Newer ones have a status as well: the last collective
// that was enqueued, and the last that was completed. docs/decisions/0059 says
// how these are found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "inspector/cpython/objects/object_reader.h"
#include "inspector/cpython/runtime/python_runtime.h"
#include "inspector/cpython/stacks/target.h"
#include "tracee/memory/address.h"

namespace hangdbg {

// As torch calls it, "ALLREDUCE", and counts it in its group.
struct NumberedCollective {
  std::int64_t number = 0;
  std::string name;
};

struct GroupBackend {
  std::string type;  // "ProcessGroupGloo"
  // So many have begun, with sends and receives. torch 1.13 begins at a random
  // number, which the ranks of a group agree upon.
  std::optional<std::uint64_t> begun;
  // So many collectives alone: by this the ranks tell which belong together.
  std::optional<std::uint64_t> collectives;
  // Whether it keeps these two; empty: there has been none yet.
  bool has_status = false;
  std::optional<NumberedCollective> enqueued;
  // The last that the device has begun; NCCL's says so only with
  // TORCH_NCCL_ENABLE_TIMING=1.
  std::optional<NumberedCollective> started;
  std::optional<NumberedCollective> completed;

  // The last one that was enqueued is not over.
  bool open() const {
    return enqueued && !(completed && completed->number >= enqueued->number);
  }
};

struct ProcessGroup {
  Address object;
  std::string name;     // "0"
  std::string backend;  // as it was asked for: "gloo", "cpu:gloo,cuda:nccl"
  bool is_default = false;
  std::vector<int> ranks;  // of the whole job, in the order of the group's own
  std::vector<GroupBackend> backends;
};

struct ProcessGroups {
  bool imported = false;  // torch.distributed
  bool complete = true;   // false: some could not be read
  std::vector<ProcessGroup> groups;

  const ProcessGroup* find(Address object) const;
  const ProcessGroup* find_default() const;
};

// None, where nothing has imported torch.distributed. Errors: Unreadable,
// NotInitialized.
Result<ProcessGroups> read_process_groups(const ObjectReader& objects,
                                          const Target& target);

}  // namespace hangdbg
