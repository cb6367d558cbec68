// The process groups of torch.distributed that a rank is in; their timeouts are
// raised by that request, until the session ends (agent/process_groups.py).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hangdbg::dap {

struct ProcessGroups {
  static constexpr std::string_view command = "hangdbg/processGroups";

  struct Arguments {
    std::optional<std::int64_t> raise_by_ms;

    template <class V>
    void fields(V& v) {
      v("raiseByMs", raise_by_ms);
    }
  };

  struct Group {
    std::string name;
    std::string device;
    std::string backend;                     // "ProcessGroupGloo"
    std::vector<std::int64_t> ranks;         // of the whole job
    std::optional<std::int64_t> timeout_ms;  // without us
    std::optional<std::int64_t> raised_to_ms;
    std::optional<std::int64_t> sequence;  // so many collectives have begun
    std::optional<std::string> problem;    // why it could not be raised

    template <class V>
    void fields(V& v) {
      v("name", name);
      v("device", device);
      v("backend", backend);
      v("ranks", ranks);
      v.nullable("timeoutMs", timeout_ms);
      v.nullable("raisedToMs", raised_to_ms);
      v.nullable("sequence", sequence);
      v("problem", problem);
    }
  };

  // A thread in a function of torch.distributed.
  struct Inside {
    std::int64_t thread_id = 0;
    std::string function;  // "all_reduce"

    template <class V>
    void fields(V& v) {
      v("threadId", thread_id);
      v("function", function);
    }
  };

  struct Body {
    std::vector<Group> groups;
    std::vector<Inside> inside;

    template <class V>
    void fields(V& v) {
      v("groups", groups);
      v("inside", inside);
    }
  };
};

}  // namespace hangdbg::dap
