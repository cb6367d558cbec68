// What is said of a recording: one line with what became of the samples, and
// the functions with the most of them.
#pragma once

#include <string>

#include "client/terminal/render.h"
#include "client/views/record/formats.h"
#include "protocol/reports/record.h"

namespace hangdbg {

// "10.0 s at 100 Hz: 1,000 samples due, 1,000 kept (2 late), 0 missed, 0 torn;
// ..."
std::string recording_line(const RecordingState& state, double rate);

// The functions with the most own time: a line each.
std::string function_lines(const RecordedProfile& recorded,
                           const Palette& palette);

// The same as JSON. `file`: where the profile was written to, if it was.
reports::Record recording_report(const RecordedProfile& recorded,
                                 const std::string& file);

}  // namespace hangdbg
