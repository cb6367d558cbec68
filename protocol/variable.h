// A frame's scopes, and values with what can be seen in them.
//
// A variablesReference other than 0 is what `variables` asks for the children
// by; how long it stays good: docs/decisions/0040.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/types.h"

namespace hangdbg::dap {

// How an editor wants values to be shown.
struct ValueFormat {
  std::optional<bool> hex;

  template <class V>
  void fields(V& v) {
    v("hex", hex);
  }
};

struct Scope {
  std::string name;
  std::optional<std::string> presentation_hint;  // "locals", "returnValue", ...
  std::int64_t variables_reference = 0;
  std::optional<std::int64_t> named_variables;
  std::optional<std::int64_t> indexed_variables;
  bool expensive = false;
  std::optional<Source> source;
  std::optional<std::int64_t> line;      // 1-based
  std::optional<std::int64_t> end_line;  // 1-based, inclusive

  template <class V>
  void fields(V& v) {
    v("name", name);
    v("presentationHint", presentation_hint);
    v("variablesReference", variables_reference);
    v("namedVariables", named_variables);
    v("indexedVariables", indexed_variables);
    v("expensive", expensive);
    v("source", source);
    v("line", line);
    v("endLine", end_line);
  }
};

struct PresentationHint {
  std::optional<std::string> kind;  // "property", "method", "class", ...
  // "readOnly", "rawString", ...
  std::optional<std::vector<std::string>> attributes;
  std::optional<std::string> visibility;  // "public", "private", ...
  std::optional<bool> lazy;  // its value is computed when it is expanded

  template <class V>
  void fields(V& v) {
    v("kind", kind);
    v("attributes", attributes);
    v("visibility", visibility);
    v("lazy", lazy);
  }
};

// What DAP has no word for in a value.
struct ValueDetail {
  std::int64_t truncated = 0;  // characters of the text left out

  template <class V>
  void fields(V& v) {
    v("truncated", truncated);
  }
};

struct Variable {
  std::string name;
  std::string value;
  std::optional<std::string> evaluate_name;  // gives the same object
  std::optional<std::string> type;
  std::optional<PresentationHint> presentation_hint;
  std::int64_t variables_reference = 0;  // 0: cannot be expanded
  std::optional<std::int64_t> named_variables;
  std::optional<std::int64_t> indexed_variables;
  std::optional<ValueDetail> hangdbg;

  template <class V>
  void fields(V& v) {
    v("name", name);
    v("value", value);
    v("evaluateName", evaluate_name);
    v("type", type);
    v("presentationHint", presentation_hint);
    v("variablesReference", variables_reference);
    v("namedVariables", named_variables);
    v("indexedVariables", indexed_variables);
    v("hangdbg", hangdbg);
  }
};

}  // namespace hangdbg::dap
