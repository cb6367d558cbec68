#include "client/commands/node.h"

#include <fmt/core.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "client/terminal/render.h"
#include "client/terminal/typed.h"
#include "nodes/answering/answer.h"
#include "nodes/program/own_program.h"
#include "server/session/exec_words.h"

namespace hangdbg {
namespace {

struct NodeOptions {
  std::string request;    // as the asking side has made it
  std::string same;       // only say whether this is the program of that ID
  std::string remove;     // the file from which we run
  bool terminal = false;  // the command has ours
};

int run(const NodeOptions& options);

}  // namespace

void add_node(cli::Command program) {
  const auto options = std::make_shared<NodeOptions>();
  const cli::Command command =
      program.add_command("node", "Answer another machine's hangdbg");
  command.add_option("REQUEST", options->request, "Request").bare();
  command.add_option("--same", options->same, "ID").hidden();
  command.add_option("--remove", options->remove, "File").hidden();
  command.add_flag("--terminal", options->terminal).hidden();
  command.runs([options] { return run(*options); });
}

namespace {

int run(const NodeOptions& options) {
  const Palette err(ColourChoice::Never, stderr);
  if (!options.same.empty()) {
    return own_program_id() == options.same ? 0 : 1;
  }
  if (!options.remove.empty()) {
    // In a folder of its own.
    ::unlink(options.remove.c_str());
    ::rmdir(options.remove.substr(0, options.remove.rfind('/')).c_str());
  }
  const auto request = read_request(options.request);
  if (!request) {
    return report(request.error(), err);
  }
  auto variables = variables_for_child();
  if (!request->typed.empty()) {
    variables.push_back(typed_for_child(request->typed));
  }
  if (options.terminal) {
    return become_command(*request, std::move(variables));
  }
  return answer_as_node(*request, std::move(variables));
}

}  // namespace
}  // namespace hangdbg
