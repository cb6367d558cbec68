#include "client/terminal/session_output.h"

#include <fmt/core.h>

#include "base/text.h"
#include "client/terminal/render.h"
#include "protocol/events/output.h"

namespace hangdbg {

Session::Hooks show_on_terminal(const Palette& err) {
  return {.on_event =
              [](const dap::Event& event) {
                const auto body = dap::body_of<dap::Output>(event);
                if (event.event != dap::Output::event || !body) {
                  return false;
                }
                print_foreign(body->category == "stderr" ? stderr : stdout,
                              body->output);
                return true;
              },
          .on_notice =
              [&err](const std::string& notice) {
                say(stderr, "{}\n", err.dim(printable(notice)));
              }};
}

}  // namespace hangdbg
