// What `hangdbg around` prints for a person.
#pragma once

#include <string>

#include "client/terminal/render.h"
#include "inspector/host/host_context.h"

namespace hangdbg {

// What is unusual comes first.
std::string around_text(const HostContext& around, const Palette& out);

}  // namespace hangdbg
