// What `attach` and `launch` have in common, by debugpy's names, so that what
// people have in their launch.json keeps working. Ours are the flags of the
// command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace hangdbg::dap {

struct PathMapping {
  std::string local_root;   // the editor's
  std::string remote_root;  // the program's

  template <class V>
  void fields(V& v) {
    v("localRoot", local_root);
    v("remoteRoot", remote_root);
  }
};

struct DebugOptions {
  // Default false: the hang is rarely in my code.
  std::optional<bool> just_my_code;
  std::optional<std::vector<PathMapping>> path_mappings;
  std::optional<bool> redirect_output;
  std::optional<bool> show_return_value;
  std::optional<bool> stop_on_entry;
  std::optional<bool> sub_process;
  std::optional<bool> native;  // C functions in stacks

  template <class V>
  void fields(V& v) {
    v("justMyCode", just_my_code);
    v("pathMappings", path_mappings);
    v("redirectOutput", redirect_output);
    v("showReturnValue", show_return_value);
    v("stopOnEntry", stop_on_entry);
    v("subProcess", sub_process);
    v("native", native);
  }
};

}  // namespace hangdbg::dap
