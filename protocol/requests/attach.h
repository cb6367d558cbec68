// To a process that runs: by its number, or as what hangs in a job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "protocol/debug_options.h"
#include "protocol/json.h"
#include "protocol/types.h"

namespace hangdbg::dap {

// Where a `hangdbg serve` listens.
struct Endpoint {
  std::optional<std::string> host;
  std::int64_t port = 0;

  template <class V>
  void fields(V& v) {
    v("host", host);
    v("port", port);
  }
};

struct Attach {
  static constexpr std::string_view command = "attach";

  struct Arguments {
    std::optional<LooseText> process_id;
    std::optional<Endpoint> connect;
    // What the command line's flags of these names take.
    std::optional<LooseText> job;
    std::optional<LooseText> ranks;
    std::optional<std::int64_t>
        hold_for;  // s, the limit for suspended ranks of a job
    std::optional<std::string>
        coordinator;  // coordinate.h: of the session that asks for it
    std::optional<LooseText> thread;
    std::optional<std::string> way;
    std::optional<std::string> token;  // of the server, where it wants one
    DebugOptions options;

    template <class V>
    void fields(V& v) {
      v("processId", process_id);
      v("connect", connect);
      v("job", job);
      v("ranks", ranks);
      v("holdFor", hold_for);
      v("hangdbg/coordinator", coordinator);
      v("thread", thread);
      v("way", way);
      v("token", token);
      options.fields(v);
    }
  };

  using Body = Nothing;
};

}  // namespace hangdbg::dap
