// An open descriptor as commands show it: a line of text, an object of JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/terminal/render.h"
#include "protocol/reports/descriptor.h"
#include "tracee/net/descriptors.h"

namespace hangdbg {

// What it leads to: "pipe:[4242], read by 99 (cat) fd 0". `unseen`: of so many
// processes it could not be seen which pipes they have.
std::string descriptor_text(const Descriptor& one,
                            std::size_t unseen,
                            const Palette& out);
std::string mode_of(const OpenFile& file);  // "r", "w", "rw"

reports::Descriptor to_json(const Descriptor& from);

}  // namespace hangdbg
