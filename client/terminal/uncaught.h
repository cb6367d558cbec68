// What becomes of an uncaught exception: hangdbg has no more memory,
// descriptors or threads, or a mistake of ours.
#pragma once

namespace hangdbg {

// From now on it is reported, and hangdbg ends with the error's exit code in
// place of abort(3). In whichever thread it is thrown, and unwinding nothing:
// for a target that is as if hangdbg were killed, which harms none.
void report_uncaught();

}  // namespace hangdbg
