// The request to a node, and what it says of itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hangdbg {

// In base64: of letters that no shell takes for its own.
struct NodeRequest {
  std::int64_t version = 1;
  std::vector<std::string> words;  // behind "hangdbg"
  std::vector<std::string> typed;  // what a person has typed, for hints
  double seconds = 0;              // then the node gives up
  bool live = false;    // it reads orders, and its output is sent as it comes
  double silence = 20;  // seconds without an order, after which it ends

  template <class V>
  void fields(V& v) {
    v("version", version);
    v("words", words);
    v("typed", typed);
    v("seconds", seconds);
    v("live", live);
    v("silence", silence);
  }
};

// Among the orders of a live one: what Ctrl-C is on a terminal.
constexpr char kInterruptKey = '\x03';

struct NodeHello {
  std::int64_t version = 1;
  std::string program;  // its ID
  std::string host;     // as it calls itself
  std::int64_t pid = 0;

  template <class V>
  void fields(V& v) {
    v("version", version);
    v("program", program);
    v("host", host);
    v("pid", pid);
  }
};

struct NodeEnd {
  std::int64_t code = 0;              // the command's
  std::int64_t bytes = 0;             // of its output, uncompressed
  std::optional<std::string> failed;  // why it was not run
  std::optional<std::string> error;   // the name of that of the command

  template <class V>
  void fields(V& v) {
    v("code", code);
    v("bytes", bytes);
    v("failed", failed);
    v("error", error);
  }
};

}  // namespace hangdbg
