// Named points of an injection and of a hold, so that a test can end us at each
// of them.
//
// With HANGDBG_TEST_DIE_AT=name in the environment, checkpoint("name") raises
// SIGKILL; with HANGDBG_TEST_STOP_AT=name, SIGSTOP, once. The target must live
// whichever name that is. With HANGDBG_TEST_LAST_POINT=file, the file's first
// byte says how many names have been passed when another process kills us.
#pragma once

#include <span>
#include <string_view>

namespace hangdbg {

// In the order in which an injection, or the hold of a thread, passes them.
std::span<const std::string_view> checkpoint_names();
std::span<const std::string_view> hold_checkpoint_names();

void checkpoint(std::string_view name);

}  // namespace hangdbg
