/* No fork of the program's while a thread state of ours is made, up to 3.11 and
 * in free-threaded interpreters.
 *
 * PyThreadState_New holds the lock on CPython's list of thread states
 * (HEAD_LOCK, Python/pystate.c) without the GIL. A child that is forked at this
 * moment inherits the lock without an owner to release it, and waits for it for
 * ever (PyOS_AfterFork_Child). The moment is not short: fork blocks a thread
 * that touches a page until all of them are copied. 3.12 makes the lock anew
 * in the child, and 3.13 takes it before it forks.
 *
 * Free-threaded, PyThreadState_New has a lock for a moment that the child would
 * need, before it asks for HEAD_LOCK: that of the numbers of the copies of
 * bytecode
 * (_Py_ReserveTLBCIndex, Python/index_pool.c). A thread about to fork has
 * stopped all threads that are attached; ours is not yet.
 *
 * glibc's fork takes the lock on its list of open files before it begins, and
 * so that lock keeps forks waiting. musl has none that can be taken out of
 * process.
 *
 * An allocator that has locked itself for a fork by then, in a handler of
 * pthread_atfork, would wait for that fork, which waits for us, while we wait
 * for the allocator: after LONGEST_NS the control thread lets the fork proceed.
 * So would, free-threaded, a thread that holds HEAD_LOCK and is about to fork.
 * All threads are stopped then, so the control thread looks sooner; by that
 * time our thread waits for HEAD_LOCK, and has no other.
 */
#include "injector/bootstrap/bootstrap.h"

#define LONGEST_NS 50000000L
#define LONGEST_FREE_THREADED_NS (HD_LATE_FORK_MS * 1000000L)

typedef void (*VoidFunction)(void);

/* What hd_let_fork wants; 0 where forks cannot be kept waiting. */
int64_t hd_hold_forks(struct HdState* state) {
  const struct HdApi* api = &state->region->api;
  if (!api->lock_file_list || !api->unlock_file_list) {
    return 0;
  }
  HD_CALL(state, lock_file_list, VoidFunction)();
  const int64_t since = hd_now();
  HD_STORE(state->forks_held_since, since);
  if (hd_is_free_threaded(state)) {
    hd_wake_control(state);
  }
  return since;
}

/* Once, by the first caller: the lock may be released by any thread. */
void hd_let_fork(struct HdState* state, int64_t since) {
  int64_t seen = since;
  if (since && HD_EXCHANGE(state->forks_held_since, seen, 0)) {
    HD_CALL(state, unlock_file_list, VoidFunction)();
  }
}

/* control */
void hd_let_fork_if_late(struct HdState* state) {
  const int64_t since = HD_LOAD(state->forks_held_since);
  const int64_t longest =
      hd_is_free_threaded(state) ? LONGEST_FREE_THREADED_NS : LONGEST_NS;
  if (since && hd_now() - since > longest) {
    hd_let_fork(state, since);
  }
}
