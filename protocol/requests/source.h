// The text of a source that is no file of the client's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/types.h"

namespace hangdbg::dap {

struct SourceText {
  static constexpr std::string_view command = "source";

  struct Arguments {
    std::optional<Source> source;
    std::int64_t source_reference = 0;

    template <class V>
    void fields(V& v) {
      v("source", source);
      v("sourceReference", source_reference);
    }
  };

  struct Body {
    std::string content;
    std::optional<std::string> mime_type;

    template <class V>
    void fields(V& v) {
      v("content", content);
      v("mimeType", mime_type);
    }
  };
};

}  // namespace hangdbg::dap
