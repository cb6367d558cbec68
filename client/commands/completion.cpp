#include "client/commands/completion.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "client/completion/live.h"
#include "client/terminal/render.h"

extern "C" {
extern const char hangdbg_completion_bash[], hangdbg_completion_bash_end[];
extern const char hangdbg_completion_zsh[], hangdbg_completion_zsh_end[];
extern const char hangdbg_completion_fish[], hangdbg_completion_fish_end[];
}

namespace hangdbg {
namespace {

std::string_view script_for(std::string_view shell);

}  // namespace

void add_completion(cli::Command program) {
  const auto shell = std::make_shared<std::string>();
  const cli::Command command =
      program.add_command("completion", "Print a shell completion script");
  command.add_option("SHELL", *shell, "Shell to complete in")
      .required()
      .one_of({"bash", "zsh", "fish"});
  command.footer(
      "Examples:\n"
      "  eval \"$(hangdbg completion bash)\"   in ~/.bashrc\n"
      "  eval \"$(hangdbg completion zsh)\"    in ~/.zshrc, after compinit\n"
      "  hangdbg completion fish | source        in "
      "~/.config/fish/config.fish\n"
      "\n"
      "Completes commands, options, and the processes (hung ones first), jobs, "
      "ranks and threads that exist at that moment. The .deb package installs "
      "completion by itself.");
  command.runs([shell] {
    print_now(stdout, std::string(script_for(*shell)));
    return 0;
  });
}

int print_completions(const CLI::App& app, std::span<char* const> words) {
  const std::vector<std::string> typed(words.begin(), words.end());
  const Completions found = complete(app, typed, values_here);
  std::string text;
  for (const Candidate& each : found.candidates) {
    text += each.word + "\t" + each.help + "\n";
  }
  print_now(stdout, text + (found.files ? ":files\n" : ""));
  return 0;
}

namespace {

std::string_view script_for(std::string_view shell) {
  if (shell == "bash") {
    return {hangdbg_completion_bash, hangdbg_completion_bash_end};
  }
  if (shell == "zsh") {
    return {hangdbg_completion_zsh, hangdbg_completion_zsh_end};
  }
  return {hangdbg_completion_fish, hangdbg_completion_fish_end};
}

}  // namespace
}  // namespace hangdbg
