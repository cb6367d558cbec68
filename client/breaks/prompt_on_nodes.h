// PromptOnNodes: the prompt of `break --via`. A line goes to the node of the
// rank that it is about, and is run there by the prompt that every hangdbg has;
// which rank that is, is known here.
//
// Threads: one; a second one hears the nodes while a line is read from a pipe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/deadline.h"
#include "base/result.h"
#include "client/breaks/ranks_on_nodes.h"
#include "client/options/options.h"
#include "client/prompt/line_editor.h"
#include "client/prompt/statement.h"
#include "inspector/ranks/rank_set.h"

namespace hangdbg {

class PromptOnNodes {
 public:
  // `nodes_of`: by rank. `meant`: ranks with the breakpoint. `hear`: what the
  // nodes say until then.
  PromptOnNodes(RanksOnNodes& ranks,
                const std::map<int, std::string>& nodes_of,
                const RankSet& meant,
                const CommonOptions& common,
                std::function<Status(Deadline)> hear);

  // Until its user leaves. The exit code. Errors: those of hear(); Interrupted.
  Result<int> run();

 private:
  enum class Came { Line, Nothing, End };
  Came read(std::string& line);
  Came read_typed(std::string& line);
  Came read_piped(std::string& line);
  std::optional<LineEditor::Came> hear_while_typing();
  Status run_line(const std::string& line);
  Status run_in(const std::string& set, const std::string& command);
  void go_to(std::string_view argument);
  void show_ranks() const;
  LineEditor::Prompt prompt() const;
  void complain(const std::string& what, const std::string& hint) const;

  RanksOnNodes& ranks_;
  const std::map<int, std::string>& nodes_of_;
  const CommonOptions& common_;
  std::function<Status(Deadline)> hear_;
  std::unique_ptr<LineEditor> editor_;  // at a terminal
  Statement statement_;
  int rank_;
  Status heard_;  // while a line was read
  bool leaving_ = false;
};

}  // namespace hangdbg
