// The rules, a file each: what a thread waits for, if it is the rule's
// business. rules.cpp has the order in which they are asked.
#pragma once

#include <optional>
#include <vector>

#include "diagnosis/snapshot/case.h"
#include "diagnosis/snapshot/cause.h"

namespace hangdbg::causes {

using Found = std::optional<Cause>;

Found frozen(const Case& of, const CaseThread& thread);
Found stopped(const Case& of, const CaseThread& thread);
Found memory_limit(const Case& of, const CaseThread& thread);
Found mount(const Case& of, const CaseThread& thread);
Found exit(const Case& of, const CaseThread& thread);
Found cuda(const Case& of, const CaseThread& thread);
Found gil(const Case& of, const CaseThread& thread);
Found idle_worker(const Case& of, const CaseThread& thread);
Found stale_lock_file(const Case& of, const CaseThread& thread);
Found file_lock(const Case& of, const CaseThread& thread);
Found import_lock(const Case& of, const CaseThread& thread);
Found join(const Case& of, const CaseThread& thread);
Found pool(const Case& of, const CaseThread& thread);
Found condition(const Case& of, const CaseThread& thread);
Found python_lock(const Case& of, const CaseThread& thread);
Found mutex(const Case& of, const CaseThread& thread);
Found shared_semaphore(const Case& of, const CaseThread& thread);
Found openmp(const Case& of, const CaseThread& thread);
Found autograd(const Case& of, const CaseThread& thread);
Found asyncio(const Case& of, const CaseThread& thread);
Found data_loader(const Case& of, const CaseThread& thread);
Found collective(const Case& of, const CaseThread& thread);
Found pending_collective(const Case& of, const CaseThread& thread);
Found nccl_init(const Case& of, const CaseThread& thread);
Found launcher(const Case& of, const CaseThread& thread);
Found store(const Case& of, const CaseThread& thread);
Found child(const Case& of, const CaseThread& thread);
Found pipe(const Case& of, const CaseThread& thread);
Found connection(const Case& of, const CaseThread& thread);
Found terminal(const Case& of, const CaseThread& thread);
Found events(const Case& of, const CaseThread& thread);
Found signal(const Case& of, const CaseThread& thread);
Found sleep(const Case& of, const CaseThread& thread);
Found running(const Case& of, const CaseThread& thread);

// Why that comes to nothing, or is slow: changes what a rule has found, where
// something that is used up around the process explains it.
void explain_by_descriptors(const Case& of,
                            const CaseThread& thread,
                            Cause& cause);
void explain_by_full_disk(const Case& of,
                          const CaseThread& thread,
                          Cause& cause);
void explain_by_process_limit(const Case& of,
                              const CaseThread& thread,
                              Cause& cause);
void explain_by_cpu_limit(const Case& of,
                          const CaseThread& thread,
                          Cause& cause);
void explain_by_memory_limit(const Case& of,
                             const CaseThread& thread,
                             Cause& cause);
void explain_by_lack_of_memory(const Case& of,
                               const CaseThread& thread,
                               Cause& cause);
// The same for a rank of a job that has ended. `ended`: processes that their
// launcher has not waited for; `beside`: one of the ranks that are left.
void explain_ended_rank(World& world,
                        const std::vector<int>& ended,
                        int beside,
                        Cause& cause);
void explain_by_known_version(const Case& of,
                              const CaseThread& thread,
                              Cause& cause);
void explain_by_nccl_threads(const Case& of,
                             const CaseThread& thread,
                             Cause& cause);
// The thread does the same again and again, and nothing comes of it.
bool retries(const Cause& cause);

}  // namespace hangdbg::causes
