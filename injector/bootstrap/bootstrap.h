/* The bootstrap's own memory, and what its files call of each other.
 *
 *   control.c   the control thread: clients come and go, the first thread
 *   sessions.c  sessions come and go; their records
 *   executor.c  a session's thread: a message, the GIL, the agent, the answer
 *   cancel.c    what is to end
 *   places.c    where a thread stands, and whether it may be cancelled there
 *   give_up.c   what does not react to its end is not waited for
 *   interpreters.c  into an interpreter and out of it
 *   frame_locals.c  reading and writing them
 *   hold.c      threads of the program that a client has suspended
 *   trace.c     the trace function of threads that are stepped or have
 *               breakpoints, up to 3.11
 *   breaks.c    breakpoints: which frames, which lines
 *   answers.c   what the agent says of code
 *   evaluator.c frames that begin
 *   pause.c     stops all other threads, where there is no GIL
 *   forks.c     no fork while a thread state is made
 *   python.c    the agent: loading it, calling it, clearing it away
 *   builtins.c  the builtins that the agent has in C
 *   recursion.c where an expression's recursion ends
 *   io.c        bounded reads and writes
 *
 * Threads: the first one, which the stub starts, makes the first session and
 * the control thread and is then that session's executor; so of the two only
 * it calls malloc, and glibc makes one arena, not two. The control thread
 * (one) never touches Python. Each session has one
 * executor; a canceller exists while an evaluation is being cancelled. The
 * control thread joins them all before it unmaps the region, so no code of
 * ours can be on any stack then. Fields are written by the thread named beside
 * them; those marked GIL, by its holder; those of an agent that is being
 * loaded or unloaded, by the thread that has set `changing`. */
#ifndef HANGDBG_BOOTSTRAP_H
#define HANGDBG_BOOTSTRAP_H

#include <stddef.h>

#include "injector/bootstrap/shared.h"

typedef struct HdPyObject HdPyObject; /* never looked into */

/* PyMethodDef (Include/methodobject.h). */
struct HdMethod {
  const char* name;
  HdPyObject* (*function)(HdPyObject* self, HdPyObject* args);
  int flags;
  const char* doc;
};

#define HD_FILE_INPUT 257 /* Py_file_input, Include/compile.h */
#define HD_BUILTINS 24

enum HdPhase {
  HD_PHASE_FREE = 0,
  HD_PHASE_OFFERED = 1, /* its channels wait to be taken */
  HD_PHASE_LIVE = 2,
  HD_PHASE_LEAVING = 3, /* its client has gone; the executor finishes */
};

/* Whether Cancelled may be raised in what the client has typed. Where there is
 * no GIL the canceller is not alone, so each change is an exchange. */
enum HdCancellable {
  HD_NOT_CANCELLABLE = 0,
  HD_CANCELLABLE = 1,
  HD_CANCELLING = 2, /* canceller; the thread waits for the end of it */
  HD_CANCELLED = 3,  /* raised, once or more */
};

#define HD_PROBES 4
#define HD_LOST_PROBES 8

struct HdRunning {
  uint32_t cancellable; /* enum HdCancellable */
  uint64_t thread;      /* pthread_t: on which it runs; GIL */
  int64_t wanted_since; /* that it ends; 0: not yet. GIL */
  /* Canceller, GIL: the instruction at which it was seen, and since when. */
  uint64_t seen_code;
  int64_t seen_at;
  int64_t seen_since;
  int64_t free_since; /* nobody had the GIL */
  int64_t seen_cpu;   /* its CPU time then */
  /* The one at which it was seen oftenest, so many times more than elsewhere.
   */
  uint64_t usual_code;
  int64_t usual_at;
  int32_t usual;
  /* Without a GIL (probes.c): what the thread owns; whoever takes one out drops
   * it. */
  HdPyObject* probes[HD_PROBES];
  HdPyObject* out;       /* dropped, and not freed yet; 0: none. See probes.c */
  HdPyObject* cancelled; /* the class of what is raised; canceller */
  uint32_t raised;       /* by the thread itself; canceller clears it */
  uint32_t is_armed;     /* it is set, and the next look is on its way */
  uint32_t takes;        /* canceller: the number of the one that is out */
  uint32_t drops; /* canceller: the last one that it has dropped; a futex */
  int64_t watched_until; /* canceller: it may drop another one by then */
  int64_t next_drop_at;  /* another thread has freed so many */
  uint32_t lost;
  uint32_t marked; /* so many looks on it may be set without a new one */
};

struct HdState;

/* A descriptor of ours in a table that is the program's: it may close all that
 * it finds there and use the number for a file of its own. So each use looks
 * first whether it is still what we opened. A blocked poll does not notice, and
 * continues with the number: it must end now and then. */
#define HD_LONGEST_POLL_MS 1000
struct HdFile {
  int number; /* -1: none */
  uint64_t device;
  uint64_t inode;
};

struct HdSession {
  struct HdState* state;
  uint32_t index;
  uint32_t phase; /* control */
  /* With sockets, both of a channel are one. */
  struct HdFile control_read, control_write, dap_read, dap_write;
  struct HdFile theirs[4]; /* the client's ends, closed once it has them */
  int64_t offered_at;

  uint64_t executor;         /* pthread_t; control */
  uint32_t executor_running; /* control */
  uint32_t executor_done;    /* executor; its last word */
  const int* executor_tid;   /* executor: the libc's, which the kernel clears */
  void* thread_state;        /* executor: PyThreadState, while it has one */
  uint32_t stage;            /* executor: enum HdExecutorStage */
  int64_t enter_now_until;   /* control */
  uint32_t enter_now_for;    /* control: for this message alone */
  uint32_t messages;         /* executor: so many have come */
  uint32_t used_agent;       /* executor: the main interpreter's */
  uint32_t in_detach_handshake; /* executor: no permissions come any more */
  uint32_t wanted;      /* control: the interpreter for the next request */
  uint32_t interpreter; /* executor: for this one; 0 is the main one */

  uint32_t spare; /* control: what hd_start_spare's thread is to do */
  uint32_t
      given_up_by; /* control: the session it was moved from, + 1; 0 none */

  uint64_t canceller;           /* pthread_t; control */
  uint32_t canceller_running;   /* control */
  int64_t cancel_again_at;      /* control */
  uint32_t canceller_done;      /* canceller; its last word */
  uint32_t canceller_is_to_end; /* control: this run of it */
  uint32_t cancel_for;          /* control: this message's evaluation; or 0 */
  struct HdRunning* evaluation; /* control: one of HdState's */
  uint64_t lowest_stack;        /* executor: for the code that it runs */

  /* How long its threads may be suspended, in ns, and the deadline of those
   * suspended now; 0: no limit, none suspended. GIL. */
  int64_t hold_for, hold_until;

  uint32_t writing; /* its setter writes to the DAP channel */
  char* buffer;     /* executor: what has been read and not yet handled */
  uint64_t capacity;
  uint64_t filled;
  uint64_t taken; /* executor: of that, by the message that it serves */
};

enum HdHeldPhase {
  HD_HELD_FREE = 0,
  HD_HELD_CLAIMED = 1, /* the injector is about to send a thread */
  HD_HELD_STANDS = 2,
  HD_HELD_LEAVES = 3, /* gone, as soon as it has written HD_LEFT */
  HD_HELD_LOST = 4,   /* no longer waited for: if it arrives, it leaves */
};

/* What a thread of the program leaves our code by: a pthread_attr_t, never used
 * as one. The libc writes HD_LEFT into it, and returns to where none of our
 * code is. */
struct HdWayOut {
  uint64_t attributes[8];
};

/* A size that no thread has, and every libc takes for one. */
#define HD_LEFT 0x48440000UL

/* A thread of the program that a session has suspended: its own code resumes
 * when ours returns. Its fields are changed with the GIL, but where said. */
struct HdHeld {
  /* Injector, in the stop in which it sends the thread: which, by the program's
   * number; 0 until then. The first word, whose address it has. */
  int32_t sent;
  uint32_t phase;   /* enum HdHeldPhase */
  uint32_t session; /* its index */
  uint64_t thread;  /* pthread_t */
  uint32_t news;    /* a futex: something below has changed, or the session */
  uint32_t asked;   /* executor: for so many pieces of work */
  uint32_t given;   /* thread: so many it has begun */
  uint32_t done;    /* thread: with so many; a futex */
  uint32_t let_go;
  int32_t signal;            /* thread: to be sent to it when it goes; 0 none */
  struct HdRunning debugged; /* which it was resumed for */
  struct HdWayOut way_out;
};

_Static_assert(offsetof(struct HdHeld, sent) == 0,
               "the injector writes it to the address of a place");

/* A thread of the program that destroys a probe: probes.c. */
struct HdVisitor {
  uint32_t phase; /* enum HdVisitorPhase */
  struct HdWayOut way_out;
};

enum HdVisitorPhase {
  HD_VISITOR_NONE = 0,
  HD_VISITOR_COMES = 1,
  HD_VISITOR_LEAVES = 2, /* gone, as soon as it has written HD_LEFT */
};

#define HD_MAX_VISITORS 8

/* A thread that is stepped by a trace function. GIL. */
struct HdTraced {
  uint64_t thread; /* pthread_t; 0: free */
  HdPyObject* function;
  HdPyObject* only; /* the frame that counts, not kept; 0: all */
  int calls;        /* what it calls and returns counts, too */
  int depth;        /* so many functions run above it, called since */
};

/* Trace functions of the program's own that ours can go before: Python's for
 * those in Python, coverage's, a profiler's... */
#define HD_OWN_TRACERS 4

/* Line breakpoints, where they need a trace function. GIL. */
struct HdBreaks {
  HdPyObject* on_line; /* 0: there are none */
  HdPyObject* classify;
  HdPyObject* on_error; /* 0: exceptions are not wanted */
  uint32_t
      generation;     /* which on_line and classify; what is older counts not */
  uint32_t calls;     /* of them that have not returned */
  uint32_t frames;    /* of our evaluator on stacks of the program */
  uint64_t evaluator; /* the one that ours goes before */
  uint32_t is_set;    /* ours is */
  uint32_t waits;     /* ours is to be, once Dynamo's is not */
  uint32_t switches;  /* there are greenlets: stacks that no thread is on */
  struct HdAnswer* answers; /* a hash table */
  uint64_t capacity;
  uint64_t used;
};

/* The agent in one interpreter. */
struct HdAgent {
  uint32_t changing;   /* it is being loaded or unloaded */
  HdPyObject* globals; /* the agent's dict; 0 while it is not loaded */
  HdPyObject* handle;
  HdPyObject* forget;
  HdPyObject* cancelled_class;
  HdPyObject* functions[HD_BUILTINS]; /* ours while the agent is loaded */
};

/* How a thread of ours came into Python, and so how it leaves. */
struct HdEntry {
  uint32_t interpreter;
  int gil;      /* of PyGILState_Ensure, where we cannot make `thread` */
  void* thread; /* PyThreadState, or 0 */
};

/* Right behind struct HdRegion. */
struct HdState {
  struct HdRegion* region;
  uint64_t base;
  int pid; /* not that of a process that a user's expression forks */
  struct HdFile rendezvous_read;
  struct HdFile rendezvous_write;
  uint64_t no_frames[4]; /* 0: a struct _PyCFrame for a thread without one */
  uint32_t tid_offset; /* of the kernel's tid in a struct pthread; 0 unknown */
  struct HdSession sessions[HD_MAX_SESSIONS];
  struct HdRunning evaluations[HD_MAX_SESSIONS]; /* one for each of them */
  struct HdHeld held[HD_MAX_HELD];
  struct HdTraced traced[HD_MAX_HELD];
  uint32_t stepped; /* so many of them are */
  struct HdBreaks breaks;
  /* Our trace functions, and what each goes before: tracing.h. */
  uint64_t tracers[2 * HD_OWN_TRACERS];
  uint64_t own_tracers[HD_OWN_TRACERS];

  /* The main interpreter's, which all sessions share, and last; and each
   * session's own in another interpreter. */
  struct HdAgent agents[HD_MAX_SESSIONS + 1];
  int64_t forks_held_since; /* forks.c; 0: they are not */
  /* probes.c */
  uint32_t looks;                          /* a futex */
  HdPyObject* lost_probes[HD_LOST_PROBES]; /* yet to be freed; 0: none */
  struct HdVisitor visitors[HD_MAX_VISITORS];
  uint32_t must_stay; /* something of Python's still points into the region */
  uint32_t lost_executor; /* one has ended, and not as it should */
  struct HdMethod methods[HD_BUILTINS];
  char failure[512]; /* why the agent could not be loaded or called */
};

_Static_assert(sizeof(struct HdRegion) + sizeof(struct HdState) <=
                   HD_AGENT_OFFSET,
               "HD_AGENT_OFFSET is too small");

/* What a thread does last (entry_x86_64.S): a call of one of the target's
 * functions, if it is not 0. */
struct HdExit {
  uint64_t function;
  uint64_t first;
  uint64_t second;
};

/* Where our state is, from the place of our own code: behind the image. */
static inline struct HdState* hd_state(void) {
  extern const char hd_image_header[] __attribute__((visibility("hidden")));
  extern const char hd_image_end[] __attribute__((visibility("hidden")));
  const uint64_t base = (uint64_t)hd_image_header;
  const uint64_t text = ((uint64_t)hd_image_end - base + 4095) & ~4095UL;
  return (struct HdState*)((struct HdRegion*)(base + text) + 1);
}

static inline int hd_uses_pipes(const struct HdState* state) {
  return (state->region->forbidden & HD_FORBIDS_SOCKETS) != 0;
}

/* control.c */
void hd_first_main(uint64_t base, struct HdExit* out);
void hd_control_main(uint64_t base, struct HdExit* out);
/* It does what is due. */
void hd_wake_control(struct HdState* state);

/* sessions.c: in the control thread */
/* A client that dies between its join and its hello. */
#define HD_OFFER_NS 1000000000L
/* Code that catches Cancelled, or cleans up after it, has so long for that. */
#define HD_CANCEL_AGAIN_MS 200
/* A session with its place among the offers filled in, or with the error there
 * that keeps it from having channels; 0 when there are too many. */
struct HdSession* hd_session_open(struct HdState* state);
/* A free one, as if it had never been used. */
void hd_session_clear(struct HdState* state, uint32_t index);
/* A thread that waits to be told whether it is the executor, or is to end. 0,
 * or errno. */
int hd_start_spare(struct HdSession* session, uint64_t* thread);
void hd_tell_spare(struct HdSession* session, uint64_t thread, int is_executor);
/* give_up.c: the client's next messages do not wait for the evaluation in that
 * one. 0: not now. */
int hd_give_up(struct HdSession* session, uint32_t message);
/* How many that were given up still run. */
int hd_has_given_up(const struct HdSession* session);
/* The records that have come. */
void hd_session_read(struct HdSession* session);
void hd_session_look_after(struct HdSession* session);
/* Whether something runs for it that is to end. */
int hd_has_to_cancel(const struct HdSession* session);
/* Its client has gone, or is to. */
void hd_session_leave(struct HdSession* session);
void hd_session_close(struct HdSession* session);
int hd_start_thread(struct HdState* state,
                    uint64_t* thread,
                    unsigned long stack,
                    void* (*start)(void*),
                    void* argument); /* 0 or an errno */

/* entry_x86_64.S */
void* hd_control_entry(void* base);

/* executor.c */
void* hd_executor_main(void* session);

/* Py_Finalize has been called. */
int hd_python_is_ending(struct HdState* state);
/* Whether it may take the GIL or pause the program: waits for that without it.
 * 0 when the client has gone, or the interpreter ends. */
int hd_may_enter(struct HdSession* session);

/* cancel.c */
void* hd_canceller_main(void* session);

/* hold.c */
/* Where a thread that was stopped in a call enters: (struct HdHeld*). */
void hd_hold_entry(void);
/* What is left for it to do is said by its entry (entry_x86_64.S). */
void hd_leave_by(struct HdState* state,
                 struct HdWayOut* way_out,
                 struct HdExit* out);
int hd_has_left(const struct HdWayOut* way_out);
/* How many threads may still run our code for that session, or for any. */
int hd_held_left(struct HdState* state, const struct HdSession* session);
/* How many may still arrive, although no longer waited for; from now on the
 * region says which. */
int hd_held_lost(struct HdState* state);
/* Whether one runs what its client debugs. */
int hd_held_debugged(const struct HdSession* session);
/* A suspended one, by the agent's number for it; 0 with an exception. */
struct HdHeld* hd_held_of(HdPyObject* number);
/* Suspends this thread for that session; 0: not allowed. It leaves by
 * HD_HELD_FREE. */
struct HdHeld* hd_come(struct HdState* state, unsigned long index);
/* Whether a message of some KB can be written to that session's client now. */
int hd_has_room(struct HdState* state, unsigned long index);
/* Wakes those suspended for a session that is leaving; without the GIL. */
void hd_held_wake(struct HdSession* session);
/* The session that this thread is suspended for, or 0. */
struct HdSession* hd_held_session(struct HdState* state, uint64_t thread);
/* What the executor does of its session's before the agent goes; waits. */
void hd_held_end(struct HdSession* session);
HdPyObject* hd_builtin_claim(HdPyObject* self, HdPyObject* none);
HdPyObject* hd_builtin_stand(HdPyObject* self, HdPyObject* number);
HdPyObject* hd_builtin_limit(HdPyObject* self, HdPyObject* limit);
HdPyObject* hd_builtin_ask(HdPyObject* self, HdPyObject* number);
HdPyObject* hd_builtin_let_go(HdPyObject* self, HdPyObject* number);
HdPyObject* hd_builtin_come(HdPyObject* self, HdPyObject* index);
HdPyObject* hd_builtin_gone(HdPyObject* self, HdPyObject* number);
HdPyObject* hd_builtin_has_room(HdPyObject* self, HdPyObject* index);

/* trace.c */
HdPyObject* hd_builtin_trace(HdPyObject* self, HdPyObject* args);
HdPyObject* hd_builtin_untrace(HdPyObject* self, HdPyObject* of);
HdPyObject* hd_builtin_ident(HdPyObject* self, HdPyObject* none);
HdPyObject* hd_builtin_nap(HdPyObject* self, HdPyObject* none);
void hd_nap(struct HdState* state); /* a moment without the GIL */

/* breaks.c */
HdPyObject* hd_builtin_break_lines(HdPyObject* self, HdPyObject* args);
/* Before the agent goes: no breakpoints, and no thread in our code; waits for
 * running calls. A frame that will still return through our evaluator keeps the
 * region. */
void hd_breaks_leave(struct HdState* state);
/* Regions that have stayed for such, and are on no stack any more. */
void hd_unmap_left(struct HdState* state);

/* interpreters.c: the interpreter that the session wants. hd_enter may wait for
 * its GIL without end; 0 when it is no more, or no memory for a thread state.
 */
int hd_enter(struct HdSession* session, struct HdEntry* entry);
void hd_exit(struct HdSession* session, struct HdEntry entry);
void hd_forget_frames(struct HdSession* session);

/* forks.c */
/* Where there is no GIL. It stops all threads of the program. */
#define HD_LATE_FORK_MS 20
int64_t hd_hold_forks(struct HdState* state);
void hd_let_fork(struct HdState* state, int64_t since);
void hd_let_fork_if_late(struct HdState* state);
int hd_gil_is_free(struct HdSession* session);
/* Read by the kernel: 0 if nothing is there any more, or that is forbidden. */
int hd_read_word(uint64_t at, uint64_t* word);
/* The PyThreadState of a thread of the main interpreter; 0: it has ended. With
 * the GIL. */
uint64_t hd_thread_state(struct HdState* state, uint64_t ident);
/* With its GIL: {ident: frame} of its threads, 0 with an exception set; or None
 * where it is the only one, and Python can say it. Without a GIL {ident: stack}
 * of the threads but ours: hd_stack's. */
HdPyObject* hd_current_frames(struct HdSession* session);

/* pause.c: with the GIL, or attached where there is none. */
static inline int hd_is_free_threaded(const struct HdState* state) {
  return state->region->api.stop_the_world != 0;
}
/* 0 with an exception set: there is none to be had for this session any more.
 */
int hd_pause(struct HdSession* session);
void hd_resume(struct HdSession* session);
/* A thread state more can come into this interpreter without a pause. */
void hd_make_room(struct HdSession* session);
/* In a pause: a list of (frame, code, lasti, globals), innermost first, of a
 * frame and its callers. Takes over the reference. */
HdPyObject* hd_stack(struct HdState* state, HdPyObject* frame);

/* frame_locals.c: with the GIL */
/* frame.f_locals: of a module's or a class's frame, the mapping itself. */
HdPyObject* hd_f_locals(struct HdSession* session, HdPyObject* frame);
/* A dict of its own with the locals of a function's frame. */
HdPyObject* hd_locals_of(struct HdSession* session, HdPyObject* frame);
/* Without a value, the name is unbound. 0 with an exception set. */
int hd_set_local(struct HdSession* session,
                 HdPyObject* frame,
                 HdPyObject* name,
                 HdPyObject* value);

/* python.c: call with the GIL; load and unload when `changing` is ours. */
static inline struct HdAgent* hd_agent(struct HdSession* session) {
  return &session->state
              ->agents[session->interpreter ? session->index : HD_MAX_SESSIONS];
}
int hd_agent_load(struct HdSession* session);
HdPyObject* hd_builtin_part(HdPyObject* self, HdPyObject* from_end);
HdPyObject* hd_agent_handle(struct HdSession* session,
                            const char* message,
                            uint64_t size);
void hd_agent_forget(struct HdSession* session);
void hd_agent_unload(struct HdSession* session);

/* builtins.c: fills in HD_BUILTINS of them. */
void hd_builtins(struct HdMethod* methods);
/* A thread with the GIL that has cancelled another one, which may be blocked
 * for long. */
void hd_take_flag(struct HdState* state, HdPyObject* cancelled);
void hd_run_loop(struct HdState* state);

/* recursion.c: on our own thread, with the GIL, around an expression. Whether
 * it is guarded. */
int hd_guard_stack(struct HdSession* session);
void hd_stop_tracing(struct HdState* state, int guarded);

/* builtins.c, python.c: with the GIL */
/* The session whose executor that thread is; 0: none. */
struct HdSession* hd_executors_session(struct HdState* state, uint64_t thread);
/* The session whose executor this thread is, or for which it is suspended; 0
 * with an exception set. */
struct HdSession* hd_this_session(struct HdState* state);
HdPyObject* hd_none(struct HdState* state);
HdPyObject* hd_raise(struct HdState* state, const char* message);
/* callable(first, second), or callable(first); takes over both references. */
HdPyObject* hd_call(struct HdState* state,
                    HdPyObject* callable,
                    HdPyObject* first,
                    HdPyObject* second);

/* dynamo.c: hd_call in a thread of the program's; what runs there is not
 * compiled by torch. */
HdPyObject* hd_call_aside(struct HdState* state,
                          HdPyObject* callable,
                          HdPyObject* first,
                          HdPyObject* second);
/* trace.c: what this thread runs is neither traced nor profiled, by whomever,
 * until that is said again with -1. */
void hd_untraced(struct HdState* state, int change);
/* Of that name, if the program has imported it; borrowed. */
HdPyObject* hd_module(struct HdState* state, const char* name);

/* descriptors.c: two that are connected, neither of them 0, 1 or 2. pipe_flags:
 * O_NONBLOCK and others make it a pipe, 0 a pair of sockets. -errno; EBADF:
 * what keeps them off these three is forbidden. */
int hd_make_pair(const struct HdState* state, int pipe_flags, int pair[2]);

/* io.c */
int64_t hd_now(void); /* monotonic nanoseconds */
void hd_name_thread(const char* name);
int hd_tid(void);
/* This is a child that was forked off one of our threads. */
int hd_is_forked(const struct HdState* state);
struct HdFile hd_file(int number);
int hd_is_ours(const struct HdFile* file);
/* EBADF where the file is not ours any more. */
long hd_read(const struct HdFile* file, void* to, uint64_t size);
long hd_write(const struct HdFile* file, const void* from, uint64_t size);
void hd_close(struct HdFile* file);
int hd_poll(int fd, int events, int timeout_ms); /* revents, 0, -errno */
char* hd_map(uint64_t size);                     /* 0 when there is no memory */
void hd_unmap(char* at, uint64_t size);
/* The whole pages between, if the filter lets us: nothing reads them again. */
void hd_drop(const struct HdState* state, char* from, const char* to);
int hd_is_leaving(const struct HdSession* session);
/* `until`: no longer than that; 0 says nothing. */
void hd_futex_await(uint32_t* futex, uint32_t seen, int64_t until);
void hd_futex_wake(uint32_t* futex);
/* Reads until the buffer holds a whole message. Its body and size, and how
 * much of the buffer it takes. 0 when the client has gone, -1 where there is no
 * memory for the message. */
int hd_read_message(struct HdSession* session,
                    const char** body,
                    uint64_t* size,
                    uint64_t* taken);
/* One message at a time: executor and held threads write to one channel. */
void hd_begin_message(struct HdSession* session);
void hd_end_message(struct HdSession* session);
/* 0 when the client has gone. */
int hd_write_all(struct HdSession* session, const char* bytes, uint64_t size);
/* The same in a thread of the program's: it gets no SIGPIPE. */
int hd_write_quietly(struct HdSession* session,
                     const char* bytes,
                     uint64_t size);
void hd_free_buffer(struct HdSession* session);

#define HD_LOAD(field) __atomic_load_n(&(field), __ATOMIC_ACQUIRE)
#define HD_STORE(field, value) \
  __atomic_store_n(&(field), (value), __ATOMIC_RELEASE)
/* Whether the field was `seen`, and then is `value`; else `seen` is what it is.
 */
#define HD_EXCHANGE(field, seen, value)                                        \
  __atomic_compare_exchange_n(&(field), &(seen), (value), 0, __ATOMIC_ACQ_REL, \
                              __ATOMIC_ACQUIRE)

/* Its client requested it, or is gone. */
static inline int hd_wants_cancel(const struct HdSession* session) {
  const uint32_t number = HD_LOAD(session->cancel_for);
  return (number && number == HD_LOAD(session->messages)) ||
         HD_LOAD(session->phase) == HD_PHASE_LEAVING;
}

/* Its client has seen, a moment ago, that the message which it serves may enter
 * Python, and pause the program where there is no GIL. */
static inline int hd_is_let_in(const struct HdSession* session) {
  return hd_now() < HD_LOAD(session->enter_now_until) &&
         session->messages == HD_LOAD(session->enter_now_for);
}

/* A function of the target by its name in struct HdApi. */
#define HD_CALL(state, name, type) ((type)(state)->region->api.name)

#endif
