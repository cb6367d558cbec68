// What `doctor --json` writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hangdbg::reports {

// One check. `state`: "ok", "note" (a limit, nothing is missing) or "missing";
// `mend` is the command that helps.
struct Check {
  std::string name;
  std::string state;
  std::string finding;
  std::optional<std::string> mend;
  std::optional<std::string> id;  // the error's, where there is one

  template <class V>
  void fields(V& v) {
    v("name", name);
    v("state", state);
    v("finding", finding);
    v("mend", mend);
    v("id", id);
  }
};

struct Examined {
  std::optional<std::int64_t> pid;
  std::vector<Check> checks;

  template <class V>
  void fields(V& v) {
    v.nullable("pid", pid);
    v("checks", checks);
  }
};

}  // namespace hangdbg::reports
