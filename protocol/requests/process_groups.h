// The process groups of torch.distributed that a rank is in; their timeouts are
// raised by that request, until the session ends (agent/process_groups.py).
// What torch has recorded of its last collectives, if that is asked for.
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
    std::optional<bool> recorded;

    template <class V>
    void fields(V& v) {
      v("raiseByMs", raise_by_ms);
      v("recorded", recorded);
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

  // Of torch's Flight Recorder.
  struct Recorded {
    std::string group;
    std::int64_t number = 0;
    std::string name;     // "gloo:all_reduce"
    std::string tensors;  // "Float[4]"
    std::int64_t age_ms = 0;
    bool over = false;

    template <class V>
    void fields(V& v) {
      v("group", group);
      v("number", number);
      v("name", name);
      v("tensors", tensors);
      v("ageMs", age_ms);
      v("over", over);
    }
  };

  struct Body {
    std::vector<Group> groups;
    std::vector<Inside> inside;
    // If that was asked for, and torch has such a thing.
    std::optional<std::vector<Recorded>> recorded;

    template <class V>
    void fields(V& v) {
      v("groups", groups);
      v("inside", inside);
      v("recorded", recorded);
    }
  };
};

}  // namespace hangdbg::dap
