// The parts that several messages share. Names and meanings are DAP's; what
// DAP has no word for sits in a member called "hangdbg".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace hangdbg::dap {

// A request or an answer without members: {}.
struct Nothing {
  template <class V>
  void fields(V&) {}
};

struct Source {
  std::optional<std::string> name;  // the file's name
  std::optional<std::string> path;  // as the code object has it
  // Other than 0: its text is to be had by the request `source`.
  std::optional<std::int64_t> source_reference;
  std::optional<std::string> presentation_hint;  // "normal", "deemphasize", ...
  std::optional<std::string> origin;             // "not on this machine", ...

  template <class V>
  void fields(V& v) {
    v("name", name);
    v("path", path);
    v("sourceReference", source_reference);
    v("presentationHint", presentation_hint);
    v("origin", origin);
  }
};

struct Thread {
  std::int64_t id = 0;  // the kernel's thread id
  std::string name;

  template <class V>
  void fields(V& v) {
    v("id", id);
    v("name", name);
  }
};

}  // namespace hangdbg::dap
