// What may come next on a command line that is being typed, for a shell.
//
// All of it is told by the declarations that parse the line: the names, what
// they are good for, and the placeholder of a value. Of "PID|auto" the
// first is a kind, of which there are some on this machine now (live.h), and
// the second is a value itself.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): not ours
class App;
}

namespace hangdbg {

struct Candidate {
  std::string word;
  std::string help;  // "" when nothing is known of it

  bool operator==(const Candidate&) const = default;
};

struct Completions {
  std::vector<Candidate> candidates;
  bool files = false;  // and the shell's own, of files

  bool operator==(const Completions&) const = default;
};

// What was typed before the word that is asked for, as far as it says which
// threads and ranks are meant.
struct TypedBefore {
  std::string pid;
  std::string job;
};

// The values of a kind: "PID", "JOB", "SET", "TID".
using LiveValues = std::function<std::vector<Candidate>(std::string_view kind,
                                                        const TypedBefore&)>;

// `words` are those after "hangdbg"; the last one, which may be empty, is
// being typed.
Completions complete(const CLI::App& app,
                     std::span<const std::string> words,
                     const LiveValues& live);

}  // namespace hangdbg
