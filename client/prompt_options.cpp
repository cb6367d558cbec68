#include "client/prompt_options.h"

#include <CLI/CLI.hpp>

namespace hangdbg {

void add_prompt_options(CLI::App& command, PromptOptions& options) {
  command
      .add_option("-c", options.commands,
                  "Run this command and leave; may be given more than once")
      ->type_name("CMD")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_place_options(command, options.place);
}

}  // namespace hangdbg
