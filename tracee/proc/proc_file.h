// One file of /proc/PID, read whole.
//
// Some of them (cmdline, environ, maps, mem) wait for the target's memory lock
// and can block for ever on a process in D state; stat, status, wchan and
// syscall cannot. Callers look at the latter first.
#pragma once

#include <string>
#include <vector>

#include "base/folder.h"
#include "base/result.h"

namespace hangdbg {

// `name` is relative to /proc/PID. Errors: NoSuchProcess; NoSuchThread, of a
// "task/TID/..." whose process is there; NotPermitted; System.
Result<std::string> read_proc_file(int pid, const std::string& name);

// The same of a file that the kernel makes in one piece, as all of task/TID are
// but for the lists (maps, smaps, numa_maps), and auxv, comm and status of the
// process: half as many system calls.
Result<std::string> read_proc_record(int pid, const std::string& name);

// The words of its command line; none of a kernel thread or a zombie.
std::vector<std::string> read_command_line(int pid);

// What a link in /proc/PID points to ("exe", "root", "fd/3").
Result<std::string> read_proc_link(int pid, const std::string& name);

// A folder of /proc/PID ("task", "fd"). Errors: as of a file.
Result<Folder> open_proc_folder(int pid, const std::string& name);

// The error of a call that has just failed on this file: only some errors of
// the system say that there is no such process.
std::unexpected<Error> cannot_read_proc(int pid, const std::string& name);

}  // namespace hangdbg
