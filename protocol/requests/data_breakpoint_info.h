// Whether a thread can stop where a value changes, and by which dataId.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hangdbg::dap {

struct DataBreakpointInfo {
  static constexpr std::string_view command = "dataBreakpointInfo";

  struct Arguments {
    std::optional<std::int64_t> variables_reference;
    std::string name;  // of a variable there; else an expression in the frame
    std::optional<std::int64_t> frame_id;

    template <class V>
    void fields(V& v) {
      v("variablesReference", variables_reference);
      v("name", name);
      v("frameId", frame_id);
    }
  };

  struct Body {
    std::optional<std::string> data_id;  // none: it cannot be watched
    std::string description;             // what will be, or why it cannot
    std::optional<std::vector<std::string>> access_types;
    std::optional<bool> can_persist;

    template <class V>
    void fields(V& v) {
      v.nullable("dataId", data_id);
      v("description", description);
      v("accessTypes", access_types);
      v("canPersist", can_persist);
    }
  };
};

}  // namespace hangdbg::dap
