#include "client/options/prompt_options.h"

namespace hangdbg {

void add_prompt_options(cli::Command command, PromptOptions& options) {
  command
      .add_option("-c", options.commands,
                  "Run this prompt command and exit (repeatable)")
      .type_name("CMD")
      .one_at_a_time()
      .take_all();
  add_place_options(command, options.place);
}

}  // namespace hangdbg
