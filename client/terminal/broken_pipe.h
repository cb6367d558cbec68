// SIGPIPE: for us, a reader that goes (`hangdbg eval ... | head -1`, a target
// that dies) is an error where it is written to, not the end.
#pragma once

namespace hangdbg {

// For the whole program; once, from main().
void ignore_broken_pipes();

// As hangdbg was started: exec hands what is ignored on to the next program.
void restore_broken_pipes();

}  // namespace hangdbg
