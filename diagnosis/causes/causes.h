// The rules, a file each: a rule finds what a thread waits for, or nothing.
// rules.cpp has their order.
#pragma once

#include <optional>
#include <vector>

#include "diagnosis/snapshot/cause.h"
#include "diagnosis/snapshot/process_snapshot.h"
#include "diagnosis/waits/awaited_files.h"

namespace hangdbg::causes {

using Found = std::optional<Cause>;

Found frozen(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found stopped(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found memory_limit(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found mount(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found exit(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found cuda(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found gil(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found idle_worker(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found stale_lock_file(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found sqlite_lock(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found file_lock(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found import_lock(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found join(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found pool(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found resource_pool(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found condition(const ProcessSnapshot& of, const ThreadSnapshot& thread);
// Of the queue that is written in C.
Found simple_queue(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found python_lock(const ProcessSnapshot& of, const ThreadSnapshot& thread);
// In C code that only a thread of its own process can resume, and there is
// none.
Found private_futex(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found mutex(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found shared_semaphore(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found buffered_file(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found native_fork(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found openmp(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found autograd(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found asyncio(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found trio(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found greenlets(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found data_loader(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found collective(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found pending_collective(const ProcessSnapshot& of,
                         const ThreadSnapshot& thread);
Found nccl_init(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found launcher(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found store(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found child(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found manager(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found fifo(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found pipe(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found grpc(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found dns(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found connection(const ProcessSnapshot& of, const ThreadSnapshot& thread);
// Of an event loop's one descriptor that others can write to, where its timers
// are no more than time limits. None, if that is no connection.
Found connection_of_loop(const ProcessSnapshot& of,
                         const ThreadSnapshot& thread,
                         const AwaitedFile& only);
// The same of a pipe, or of the pipes by which a child's output comes; `child`:
// that has ended.
Found pipe_of_loop(const ProcessSnapshot& of,
                   const ThreadSnapshot& thread,
                   const std::vector<AwaitedFile>& all,
                   std::optional<int> child);
Found udp(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found pseudo_terminal(const ProcessSnapshot& of, const ThreadSnapshot& thread);
// A server process of PostgreSQL.
Found postgres(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found terminal(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found events(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found signal(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found sleep(const ProcessSnapshot& of, const ThreadSnapshot& thread);
Found running(const ProcessSnapshot& of, const ThreadSnapshot& thread);

// Of connection(): the one socket that it found to be awaited is none of TCP.
Found unix_socket(const ProcessSnapshot& of,
                  const ThreadSnapshot& thread,
                  const AwaitedFiles& awaited,
                  const AwaitedFile& only);

// Why its call fails, or is slow: changes what a rule has found, where an
// exhausted resource of the process's host explains it.
void refine_by_descriptors(const ProcessSnapshot& of,
                           const ThreadSnapshot& thread,
                           Cause& cause);
void refine_by_full_disk(const ProcessSnapshot& of,
                         const ThreadSnapshot& thread,
                         Cause& cause);
void refine_by_process_limit(const ProcessSnapshot& of,
                             const ThreadSnapshot& thread,
                             Cause& cause);
void refine_by_cpu_limit(const ProcessSnapshot& of,
                         const ThreadSnapshot& thread,
                         Cause& cause);
void refine_by_memory_limit(const ProcessSnapshot& of,
                            const ThreadSnapshot& thread,
                            Cause& cause);
void refine_by_lack_of_memory(const ProcessSnapshot& of,
                              const ThreadSnapshot& thread,
                              Cause& cause);
// The same for a rank of a job that has ended. `ended`: processes that their
// launcher has not waited for; `beside`: one of the ranks that are left.
void explain_ended_rank(SystemSnapshot& system,
                        const std::vector<int>& ended,
                        int beside,
                        Cause& cause);
void refine_by_known_version(const ProcessSnapshot& of,
                             const ThreadSnapshot& thread,
                             Cause& cause);
void refine_by_nccl_threads(const ProcessSnapshot& of,
                            const ThreadSnapshot& thread,
                            Cause& cause);
// Of a wait with a time limit: the program polls.
void refine_by_loop(const ProcessSnapshot& of,
                    const ThreadSnapshot& thread,
                    Cause& cause);
// Adds what the library waits for that the thread is in, if known.
void refine_by_library(const ProcessSnapshot& of,
                       const ThreadSnapshot& thread,
                       Cause& cause);

}  // namespace hangdbg::causes
