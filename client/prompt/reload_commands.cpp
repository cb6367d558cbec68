// reload: functions get the code that is in their file now.
#include <array>

#include "base/text.h"
#include "client/prompt/breakpoint_place.h"
#include "client/prompt/command.h"
#include "client/prompt/prompt.h"
#include "server/session/reload.h"

namespace hangdbg {
namespace {

Status reload(PromptState& state, std::string_view argument) {
  const auto& source = state.place.frame().source;
  const std::string path = argument.empty()
                               ? source ? source->path.value_or("") : ""
                               : TRY(path_of(state, argument));
  const auto done = TRY(reload_file(state.session, path, state.deadline()));
  state.sources.forget(done.path);
  say("{}", reload_text(done));
  return {};
}

}  // namespace

std::span<const Command> reload_commands() {
  static const std::array<Command, 1> table = {
      Command{{"reload"},
              "[file | module]",
              "Give functions the code that is in their file now; nothing else "
              "of the file is run.",
              reload},
  };
  return table;
}

}  // namespace hangdbg
