/* Threads of the program that a client has suspended; they run its requests.
 *
 * A thread comes here out of the call in which it was stopped (the injector has
 * put hd_hold_entry on top of it, as the kernel does with a signal's handler),
 * takes the GIL, and the agent's stand() keeps it until it is resumed. Its own
 * thread state, locals and context are around it. All signals but the CPU's are
 * blocked; the way back, which restores them, is the kernel's rt_sigreturn.
 *
 * However its client ends, hd_session_leave wakes it, and it goes. The region
 * may go only when no thread can be in it: so a thread says that it has left by
 * a function of the libc that writes a word and returns past us. */
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <time.h>

#include "injector/bootstrap/bootstrap.h"
#include "injector/bootstrap/resume_x86_64.h"
#include "injector/bootstrap/syscalls_x86_64.h"

#define ERESTARTSYS (-512)
#define ERESTARTNOINTR (-513)

/* How often a wait polls for the end of the other side, which sends nothing. */
#define LONGEST_WAIT_S 1
/* A thread that was sent comes as soon as it gets a CPU. */
#define COMES_NS 300000000L
/* The GIL is taken when it is free, or else by a blocking acquire: the thread's
 * own code would do no less. */
#define GIL_PATIENCE_NS 50000000L

typedef uint64_t (*SelfFunction)(void);
typedef int (*EnsureFunction)(void);
typedef void (*ReleaseFunction)(int);
typedef void* (*SaveFunction)(void);
typedef void (*RestoreFunction)(void*);
typedef int* (*ErrnoFunction)(void);
typedef HdPyObject* (*NumberFunction)(long);
typedef unsigned long (*AsNumberFunction)(HdPyObject*);
typedef HdPyObject* (*GetItemFunction)(HdPyObject*, const char*);
typedef HdPyObject* (*TupleFunction)(long);
typedef int (*TupleSetFunction)(HdPyObject*, long, HdPyObject*);
typedef void (*FetchFunction)(HdPyObject**, HdPyObject**, HdPyObject**);
typedef int (*AsyncExcFunction)(unsigned long, HdPyObject*);
typedef void (*ObjectFunction)(HdPyObject*);

static void look_for_signals(struct HdSignalFrame* frame);
static int may_stand(const struct HdSession* session);
static void stand(struct HdSession* session, struct HdHeld* held);
static void keep_for_later(struct HdState* state, const struct HdHeld* held);
static int may_come(const struct HdSession* session, const struct HdHeld* held);
static int client_has_ended(const struct HdSession* session);
static struct HdHeld* claim(struct HdState* state, uint32_t session);
static void tell(struct HdHeld* held);
static int64_t hold_until(struct HdSession* session);

/* The thread enters; hd_hold_entry calls this. */
void hd_hold_main(struct HdHeld* held, struct HdExit* out) {
  struct HdState* state = hd_state();
  const struct HdApi* api = &state->region->api;
  struct HdSession* session = &state->sessions[held->session];
  int* error =
      api->errno_location ? HD_CALL(state, errno_location, ErrnoFunction)() : 0;
  const int kept = error ? *error : 0;
  uint32_t seen = HD_HELD_CLAIMED;
  if (HD_EXCHANGE(held->phase, seen, HD_HELD_STANDS) && may_stand(session)) {
    const int gil = HD_CALL(state, PyGILState_Ensure, EnsureFunction)();
    stand(session, held);
    HD_CALL(state, PyGILState_Release, ReleaseFunction)(gil);
  }
  if (held->signal) {
    hd_syscall(SYS_tgkill, state->pid, hd_tid(), held->signal, 0, 0, 0);
  }
  look_for_signals((struct HdSignalFrame*)(out + 1));
  if (error) {
    *error = kept;
  }
  hd_leave_by(state, &held->way_out, out);
  HD_STORE(held->phase, HD_HELD_LEAVES);
}

/* A signal that came while all were blocked would have ended the call. Its
 * handler runs on our way out, before the call is made again, and nothing would
 * wake that. */
static void look_for_signals(struct HdSignalFrame* frame) {
  uint64_t pending = 0;
  hd_syscall(SYS_rt_sigpending, (long)&pending, sizeof pending, 0, 0, 0, 0);
  pending &= ~frame->mask;
  for (int signal = 1; signal <= 64 && frame->restart; signal++) {
    struct {
      uint64_t handler, flags, restorer, mask;
    } action = {0, 0, 0, 0};
    if (!(pending >> (signal - 1) & 1) ||
        hd_syscall(SYS_rt_sigaction, signal, 0, (long)&action,
                   sizeof action.mask, 0, 0) != 0 ||
        action.handler <= 1 /* SIG_DFL, SIG_IGN */) {
      continue;
    }
    if (frame->restart != ERESTARTNOINTR &&
        !(frame->restart == ERESTARTSYS && (action.flags & SA_RESTART))) {
      hd_do_not_restart(frame);
      return;
    }
  }
}

static int may_stand(const struct HdSession* session) {
  struct HdState* state = session->state;
  const int64_t until = hd_now() + GIL_PATIENCE_NS;
  while (HD_LOAD(session->phase) == HD_PHASE_LIVE &&
         !hd_python_is_ending(state)) {
    if (hd_is_free_threaded(state) || hd_now() > until ||
        hd_gil_is_free((struct HdSession*)session)) {
      return 1;
    }
    hd_poll(-1, 0, 1);
  }
  return 0;
}

static void stand(struct HdSession* session, struct HdHeld* held) {
  struct HdState* state = session->state;
  const struct HdAgent* agent = hd_agent(session);
  held->thread = HD_CALL(state, pthread_self, SelfFunction)();
  HdPyObject* function = agent->globals
                             ? HD_CALL(state, PyDict_GetItemString,
                                       GetItemFunction)(agent->globals, "stand")
                             : 0;
  hd_untraced(state, 1);
  HdPyObject* signal =
      function ? hd_call_aside(state, function,
                               HD_CALL(state, PyLong_FromLong,
                                       NumberFunction)(session->index),
                               HD_CALL(state, PyLong_FromLong,
                                       NumberFunction)(held - state->held))
               : 0;
  hd_untraced(state, -1);
  if (signal) {
    held->signal = (int)HD_CALL(state, PyLong_AsUnsignedLongMask,
                                AsNumberFunction)(signal);
    HD_CALL(state, Py_DecRef, ObjectFunction)(signal);
  } else if (function) {
    keep_for_later(state, held);
  }
}

/* What a signal's handler has raised, which Python ran while we had the main
 * thread, is the program's: it is raised when its own code resumes. */
static void keep_for_later(struct HdState* state, const struct HdHeld* held) {
  HdPyObject* parts[3] = {0, 0, 0}; /* type, value, traceback */
  HD_CALL(state, PyErr_Fetch, FetchFunction)(&parts[0], &parts[1], &parts[2]);
  const HdPyObject* no_stack =
      *(HdPyObject**)state->region->api.recursion_error;
  if (parts[0] && parts[0] != no_stack) { /* that would be ours */
    HD_CALL(state, PyThreadState_SetAsyncExc, AsyncExcFunction)
    (held->thread, parts[0]);
  }
  for (int i = 0; i < 3; i++) {
    if (parts[i]) {
      HD_CALL(state, Py_DecRef, ObjectFunction)(parts[i]);
    }
  }
}

int hd_held_left(struct HdState* state, const struct HdSession* session) {
  int left = 0;
  for (int i = 0; i < HD_MAX_HELD; i++) {
    const struct HdHeld* held = &state->held[i];
    const uint32_t phase = HD_LOAD(held->phase);
    left += (!session || held->session == session->index) &&
            (phase == HD_HELD_STANDS ||
             (phase == HD_HELD_LEAVES && !hd_has_left(&held->way_out)));
  }
  return left;
}

void hd_leave_by(struct HdState* state,
                 struct HdWayOut* way_out,
                 struct HdExit* out) {
  out->function = state->region->api.pthread_attr_setstacksize;
  out->first = (uint64_t)way_out->attributes;
  out->second = HD_LEFT;
}

int hd_has_left(const struct HdWayOut* way_out) {
  for (int i = 0; i < 8; i++) {
    if (HD_LOAD(way_out->attributes[i]) == HD_LEFT) {
      return 1;
    }
  }
  return 0;
}

int hd_held_debugged(const struct HdSession* session) {
  for (int i = 0; i < HD_MAX_HELD; i++) {
    const struct HdHeld* held = &session->state->held[i];
    if (held->session == session->index &&
        HD_LOAD(held->debugged.cancellable)) {
      return 1;
    }
  }
  return 0;
}

void hd_held_wake(struct HdSession* session) {
  for (int i = 0; i < HD_MAX_HELD; i++) {
    if (session->state->held[i].session == session->index) {
      tell(&session->state->held[i]);
    }
  }
}

struct HdSession* hd_held_session(struct HdState* state, uint64_t thread) {
  for (int i = 0; i < HD_MAX_HELD; i++) {
    const struct HdHeld* held = &state->held[i];
    if (HD_LOAD(held->phase) == HD_HELD_STANDS && held->thread == thread) {
      return &state->sessions[held->session];
    }
  }
  return 0;
}

void hd_held_end(struct HdSession* session) {
  struct HdState* state = session->state;
  const int64_t until = hd_now() + COMES_NS;
  for (int i = 0; i < HD_MAX_HELD; i++) {
    struct HdHeld* held = &state->held[i];
    uint32_t seen = HD_HELD_CLAIMED;
    if (held->session != session->index) {
      continue;
    }
    const int mine = HD_EXCHANGE(held->phase, seen, HD_HELD_LOST);
    while (may_come(session, held) && hd_now() < until) {
      hd_poll(-1, 0, 1);
    }
    if (mine && !HD_LOAD(held->sent)) {
      if (may_come(session, held)) {
        HD_STORE(state->must_stay, 1); /* which one it was is lost */
      } else {
        HD_STORE(held->phase, HD_HELD_FREE); /* none was sent */
      }
    }
  }
  /* One that is in a C call of an expression may be there for days. */
  for (int wait = 1; hd_held_left(state, session);
       wait += wait < HD_CANCEL_AGAIN_MS) {
    hd_poll(-1, 0, wait);
  }
}

/* Once the client has ended it sends no more, and what it has written counts.
 */
static int may_come(const struct HdSession* session,
                    const struct HdHeld* held) {
  return HD_LOAD(held->phase) == HD_HELD_LOST &&
         (!client_has_ended(session) || HD_LOAD(held->sent));
}

/* And not only that we are to leave: the program may have closed our channels
 * under a client that lives. */
static int client_has_ended(const struct HdSession* session) {
  const int seen = hd_is_ours(&session->control_read)
                       ? hd_poll(session->control_read.number, 0, 0)
                       : 0;
  return seen > 0 && (seen & POLLHUP);
}

int hd_held_lost(struct HdState* state) {
  int lost = 0;
  for (int i = 0; i < HD_MAX_HELD; i++) {
    const struct HdHeld* held = &state->held[i];
    const int32_t thread =
        HD_LOAD(held->phase) == HD_HELD_LOST ? HD_LOAD(held->sent) : 0;
    HD_STORE(state->region->lost[i], thread);
    lost += thread != 0;
  }
  return lost;
}

/* (number, address of the HdHeld, address of hd_hold_entry): for one thread
 * that the injector will send. */
HdPyObject* hd_builtin_claim(HdPyObject* self, HdPyObject* none) {
  (void)self;
  (void)none;
  struct HdState* state = hd_state();
  struct HdSession* session = hd_this_session(state);
  if (!session) {
    return 0;
  }
  const struct HdHeld* held = claim(state, session->index);
  if (!held) {
    return hd_raise(state, "no more threads can be held");
  }
  HdPyObject* place = HD_CALL(state, PyTuple_New, TupleFunction)(3);
  const long values[] = {held - state->held, (long)held, (long)hd_hold_entry};
  for (int i = 0; place && i < 3; i++) {
    HD_CALL(state, PyTuple_SetItem, TupleSetFunction)
    (place, i, HD_CALL(state, PyLong_FromLong, NumberFunction)(values[i]));
  }
  return place;
}

/* A free one; 0 when there is none. */
static struct HdHeld* claim(struct HdState* state, uint32_t session) {
  for (int i = 0; i < HD_MAX_HELD; i++) {
    struct HdHeld* held = &state->held[i];
    uint32_t seen = HD_LOAD(held->phase);
    if ((seen == HD_HELD_FREE ||
         (seen == HD_HELD_LEAVES && hd_has_left(&held->way_out))) &&
        HD_EXCHANGE(held->phase, seen, HD_HELD_CLAIMED)) {
      *held = (struct HdHeld){.phase = HD_HELD_CLAIMED, .session = session};
      return held;
    }
  }
  return 0;
}

/* A forked child has the sessions' memory, and nobody who would let it go. */
struct HdHeld* hd_come(struct HdState* state, unsigned long index) {
  if (index >= HD_MAX_SESSIONS ||
      HD_LOAD(state->sessions[index].phase) != HD_PHASE_LIVE ||
      hd_is_forked(state)) {
    return 0;
  }
  struct HdHeld* held = claim(state, (uint32_t)index);
  uint32_t seen = HD_HELD_CLAIMED;
  if (!held) {
    return 0;
  }
  held->thread = HD_CALL(state, pthread_self, SelfFunction)();
  /* Else the session has ended in between. */
  return HD_EXCHANGE(held->phase, seen, HD_HELD_STANDS) ? held : 0;
}

/* A thread of the program suspends itself for that session: the number, or None
 * if not allowed. */
HdPyObject* hd_builtin_come(HdPyObject* self, HdPyObject* index) {
  (void)self;
  struct HdState* state = hd_state();
  const struct HdHeld* held = hd_come(
      state,
      HD_CALL(state, PyLong_AsUnsignedLongMask, AsNumberFunction)(index));
  return held ? HD_CALL(state, PyLong_FromLong,
                        NumberFunction)(held - state->held)
              : hd_none(state);
}

/* And goes. */
HdPyObject* hd_builtin_gone(HdPyObject* self, HdPyObject* number) {
  (void)self;
  struct HdState* state = hd_state();
  struct HdHeld* held = hd_held_of(number);
  if (!held) {
    return 0;
  }
  HD_STORE(held->phase, HD_HELD_FREE);
  return hd_none(state);
}

/* Whether a message of some KB can be written to that session's client now. */
HdPyObject* hd_builtin_has_room(HdPyObject* self, HdPyObject* index) {
  (void)self;
  struct HdState* state = hd_state();
  return HD_CALL(state, PyLong_FromLong, NumberFunction)(hd_has_room(
      state,
      HD_CALL(state, PyLong_AsUnsignedLongMask, AsNumberFunction)(index)));
}

int hd_has_room(struct HdState* state, unsigned long index) {
  return index < HD_MAX_SESSIONS &&
         hd_poll(state->sessions[index].dap_write.number, POLLOUT, 0) ==
             POLLOUT;
}

/* The thread waits until there is work (1), or it may go (0): it was resumed,
 * its time is up or its client gone. The work that it was given before is done;
 * requests from before it has arrived here are not. */
HdPyObject* hd_builtin_stand(HdPyObject* self, HdPyObject* number) {
  (void)self;
  struct HdState* state = hd_state();
  struct HdHeld* held = hd_held_of(number);
  if (!held) {
    return 0;
  }
  struct HdSession* session = &state->sessions[held->session];
  void* thread = HD_CALL(state, PyEval_SaveThread, SaveFunction)();
  const uint32_t done = held->given;
  if (held->done != done) {
    HD_STORE(held->done, done);
    hd_futex_wake(&held->done);
  }
  int work = 0;
  for (;;) {
    const uint32_t seen = HD_LOAD(held->news);
    const int64_t until = hold_until(session);
    held->given = HD_LOAD(held->asked);
    work = held->given != done;
    if (work || HD_LOAD(held->let_go) ||
        HD_LOAD(session->phase) != HD_PHASE_LIVE ||
        (until && hd_now() >= until)) {
      break;
    }
    hd_futex_await(&held->news, seen, until);
  }
  HD_CALL(state, PyEval_RestoreThread, RestoreFunction)(thread);
  return HD_CALL(state, PyLong_FromLong, NumberFunction)(work);
}

/* Until when its threads may be suspended; 0: for ever. The first call after a
 * change of the limit begins the time, without the GIL. */
static int64_t hold_until(struct HdSession* session) {
  for (;;) {
    const int64_t longest = HD_LOAD(session->hold_for);
    int64_t until = HD_LOAD(session->hold_until);
    if (longest && !until) {
      const int64_t mine = hd_now() + longest;
      until = HD_EXCHANGE(session->hold_until, until, mine) ? mine : until;
    }
    if (HD_LOAD(session->hold_for) == longest) {
      return longest ? until : 0;
    }
    HD_STORE(session->hold_until, 0); /* it was of the limit before */
  }
}

/* index << 32 | milliseconds: how long that session's threads may be suspended,
 * from now on, or from when the first is. 0: for ever. */
HdPyObject* hd_builtin_limit(HdPyObject* self, HdPyObject* limit) {
  (void)self;
  struct HdState* state = hd_state();
  const unsigned long longest =
      HD_CALL(state, PyLong_AsUnsignedLongMask, AsNumberFunction)(limit);
  if (longest >> 32 >= HD_MAX_SESSIONS) {
    return hd_raise(state, "no such session");
  }
  struct HdSession* session = &state->sessions[longest >> 32];
  HD_STORE(session->hold_for, (int64_t)(longest & 0xffffffff) * 1000000);
  HD_STORE(session->hold_until, 0);
  hd_held_wake(session);
  return hd_none(state);
}

/* The executor asks the thread for a piece of work, and waits for it. */
HdPyObject* hd_builtin_ask(HdPyObject* self, HdPyObject* number) {
  (void)self;
  struct HdState* state = hd_state();
  struct HdHeld* held = hd_held_of(number);
  if (!held) {
    return 0;
  }
  const uint32_t asked = held->asked + 1;
  HD_STORE(held->asked, asked);
  tell(held);
  void* thread = HD_CALL(state, PyEval_SaveThread, SaveFunction)();
  for (;;) {
    const uint32_t done = HD_LOAD(held->done);
    if (done == asked || HD_LOAD(held->phase) != HD_HELD_STANDS ||
        HD_LOAD(held->asked) != asked /* it has gone, and come anew */) {
      break;
    }
    hd_futex_await(&held->done, done, 0);
  }
  HD_CALL(state, PyEval_RestoreThread, RestoreFunction)(thread);
  return hd_none(state);
}

/* Resumes the thread, also one that is still to arrive; or, if none was sent,
 * gives up the claim. */
HdPyObject* hd_builtin_let_go(HdPyObject* self, HdPyObject* number) {
  (void)self;
  struct HdState* state = hd_state();
  const unsigned long at =
      HD_CALL(state, PyLong_AsUnsignedLongMask, AsNumberFunction)(number);
  if (at < HD_MAX_HELD) {
    struct HdHeld* held = &state->held[at];
    uint32_t seen = HD_HELD_CLAIMED;
    HD_EXCHANGE(held->phase, seen,
                HD_LOAD(held->sent) ? HD_HELD_LOST : HD_HELD_FREE);
    HD_STORE(held->let_go, 1);
    tell(held);
  }
  return hd_none(state);
}

struct HdHeld* hd_held_of(HdPyObject* number) {
  struct HdState* state = hd_state();
  const unsigned long at =
      HD_CALL(state, PyLong_AsUnsignedLongMask, AsNumberFunction)(number);
  if (at >= HD_MAX_HELD || HD_LOAD(state->held[at].phase) != HD_HELD_STANDS) {
    hd_raise(state, "no thread is held by that number");
    return 0;
  }
  return &state->held[at];
}

static void tell(struct HdHeld* held) {
  __atomic_fetch_add(&held->news, 1, __ATOMIC_ACQ_REL);
  hd_futex_wake(&held->news);
}

void hd_futex_wake(uint32_t* futex) {
  hd_syscall(SYS_futex, (long)futex, FUTEX_WAKE_PRIVATE, 0x7fffffff, 0, 0, 0);
}

void hd_futex_await(uint32_t* futex, uint32_t seen, int64_t until) {
  const int64_t left = until ? until - hd_now() : LONGEST_WAIT_S * 1000000000L;
  struct timespec longest = {LONGEST_WAIT_S, 0};
  if (left < LONGEST_WAIT_S * 1000000000L) {
    longest = (struct timespec){0, left > 0 ? left : 0};
  }
  hd_syscall(SYS_futex, (long)futex, FUTEX_WAIT_PRIVATE, seen, (long)&longest,
             0, 0);
}
