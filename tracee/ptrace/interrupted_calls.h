// What a stop does to a system call in which a thread sleeps (signal(7),
// "Interruption of system calls and library functions by stop signals").
//
// Most calls are restarted by the kernel, and the program does not notice. Some
// return EINTR though no handler has run; some return a partial result.
#pragma once

#include "tracee/arch/x86_64/registers_x86_64.h"
#include "tracee/proc/proc_tasks.h"

namespace hangdbg {

// The call has done nothing yet when it returns EINTR: to enter it once more is
// what the kernel would do, did it restart it. One with a time limit begins
// that anew.
bool may_be_entered_again(long number);

// The call would return a partial result: a thread in it must not be stopped.
bool returns_a_part(const TaskSyscall& call);

// Stopped in a call that has returned EINTR.
bool was_interrupted(const Registers& registers);

// How the thread enters the call again that it has just left without a result;
// and how it leaves it so, after all.
Registers before_call(const Registers& after);
Registers after_interrupted_call(const Registers& before);

}  // namespace hangdbg
