// Paths of files that a Python frame has at hand: in its variables, in the
// attributes of its object, in the constants of its module.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnosis/snapshot/process_snapshot.h"

namespace hangdbg {

struct NamedPath {
  std::string name;  // "path", "self.path", "LOCK"
  std::string path;
  bool of_module = false;
};

// Strings that look like a path, each once.
std::vector<NamedPath> paths_known_to(const ProcessSnapshot& of,
                                      const PythonFrame& frame);

// The value of that expression there: a str, bytes, or a pathlib.Path.
std::optional<std::string> path_at(const ProcessSnapshot& of,
                                   const PythonFrame& frame,
                                   const std::string& expression);

// The name of that object's class; "" if it cannot be read.
std::string type_at(const ProcessSnapshot& of,
                    const PythonFrame& frame,
                    std::string_view expression);

}  // namespace hangdbg
