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

  template <class V>
  void fields(V& v) {
    v("name", name);
    v("path", path);
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

// What DAP has no word for in a StackFrame.
struct FrameDetail {
  std::string qualname;
  std::string module;
  std::int64_t first_line = 0;  // of the function

  template <class V>
  void fields(V& v) {
    v("qualname", qualname);
    v("module", module);
    v("firstLine", first_line);
  }
};

struct StackFrame {
  std::int64_t id = 0;
  std::string name;  // the plain function name
  std::optional<Source> source;
  std::int64_t line = 0;    // 1-based; 0: unknown
  std::int64_t column = 0;  // 1-based; 0: unknown
  std::optional<FrameDetail> hangdbg;

  template <class V>
  void fields(V& v) {
    v("id", id);
    v("name", name);
    v("source", source);
    v("line", line);
    v("column", column);
    v("hangdbg", hangdbg);
  }
};

struct Scope {
  std::string name;
  std::optional<std::string> presentation_hint;
  std::int64_t variables_reference = 0;  // 0: cannot be expanded
  bool expensive = false;
  std::optional<Source> source;
  std::optional<std::int64_t> line;      // 1-based
  std::optional<std::int64_t> end_line;  // 1-based, inclusive

  template <class V>
  void fields(V& v) {
    v("name", name);
    v("presentationHint", presentation_hint);
    v("variablesReference", variables_reference);
    v("expensive", expensive);
    v("source", source);
    v("line", line);
    v("endLine", end_line);
  }
};

struct Variable {
  std::string name;
  std::string value;
  std::optional<std::string> type;
  std::int64_t variables_reference = 0;  // 0: cannot be expanded

  template <class V>
  void fields(V& v) {
    v("name", name);
    v("value", value);
    v("type", type);
    v("variablesReference", variables_reference);
  }
};

}  // namespace hangdbg::dap
