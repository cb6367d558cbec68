// An error with --json, with the command line that was typed in its hint.
#pragma once

#include "base/error.h"
#include "protocol/reports/error.h"

namespace hangdbg {

reports::ReportedError reported(const Error& noticed);

}  // namespace hangdbg
