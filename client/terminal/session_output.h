// What a session says unasked, shown as it comes.
#pragma once

#include "client/terminal/render.h"
#include "server/session/session.h"

namespace hangdbg {

// What the evaluated code prints, and why a call takes long.
Session::Hooks show_on_terminal(const Palette& err);

}  // namespace hangdbg
