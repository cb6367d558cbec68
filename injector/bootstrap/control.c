/* The control thread. It never touches Python and so always answers, whichever
 * thread holds the GIL. Clients connect by the rendezvous pipe, are offered two
 * channels, and are gone when theirs close; with the last one everything here
 * goes. */
#define _GNU_SOURCE /* O_DIRECT */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>

#include "injector/bootstrap/bootstrap.h"
#include "injector/bootstrap/probes.h"
#include "injector/bootstrap/syscalls_x86_64.h"

#define CONTROL_STACK (256UL << 10)
/* For how long, without a session, a probe is waited for; how often. */
#define PROBES_NS 10000000000L
#define PROBES_POLL_MS 10

typedef uint64_t (*SelfFunction)(void);
typedef int (*ThreadFunction)(uint64_t);

static struct HdState* set_up(uint64_t base);
static void serve(struct HdState* state);
static int wait_for_news(struct HdState* state, struct pollfd* polled);
static void answer_door(struct HdState* state);
static void leave_target(struct HdState* state, struct HdExit* out);
static void offer(struct HdState* state, uint32_t nonce);
static void look_after(struct HdState* state);
static int sessions_left(const struct HdState* state);
static uint32_t find_tid_offset(struct HdState* state);

void hd_first_main(uint64_t base, struct HdExit* out) {
  struct HdState* state = set_up(base);
  struct HdSession* session = hd_session_open(state);
  struct HdOffer* place = &state->region->offers[0];
  uint64_t control = 0;
  if (!place->error) {
    session->executor_running = 1; /* we are */
    const int error = hd_start_thread(state, &control, CONTROL_STACK,
                                      hd_control_entry, (void*)base);
    if (!error) {
      HD_STORE(place->nonce, state->region->first_nonce);
      hd_executor_main(session);
      return;
    }
    hd_session_leave(session);
    hd_session_close(session);
    place->error = -error;
  }
  HD_STORE(place->nonce, state->region->first_nonce);
  hd_poll(-1, 0, HD_OFFER_NS / 1000000); /* the client reads why */
  leave_target(state, out);
}

void hd_control_main(uint64_t base, struct HdExit* out) {
  struct HdState* state = hd_state();
  struct HdRegion* region = state->region;
  (void)base;
  hd_name_thread(HD_CONTROL_THREAD_NAME);
  HD_CALL(state, pthread_detach, ThreadFunction)
  (HD_CALL(state, pthread_self, SelfFunction)());
  region->control_tid = hd_tid();
  HD_STORE(region->stage, HD_STAGE_SERVING);
  do {
    serve(state);
    /* A client that wrote before this is served; a later one sees the stage,
     * or finds the rendezvous pipe closed. */
    HD_STORE(region->stage, HD_STAGE_CLOSING);
    answer_door(state);
    if (sessions_left(state)) {
      HD_STORE(region->stage, HD_STAGE_SERVING);
    }
  } while (sessions_left(state));
  leave_target(state, out);
}

static void leave_target(struct HdState* state, struct HdExit* out) {
  /* The stage first: a client that has fetched the rendezvous pipe looks at it
   * again, lest the number was another file's by then. */
  HD_STORE(state->region->stage, HD_STAGE_CLOSED);
  hd_close(&state->rendezvous_read);
  hd_close(&state->rendezvous_write);
  /* Where the interpreter ended before the detach handshake, the agent's
   * objects live on and the garbage collector looks at their method tables:
   * then the region stays, and is all that does. */
  int loaded = 0;
  for (int i = 0; i <= HD_MAX_SESSIONS; i++) {
    loaded |= state->agents[i].globals != 0;
  }
  const int lost = hd_held_lost(state);
  if (loaded || state->must_stay || hd_probes_left(state) ||
      hd_held_left(state, 0)) {
    return;
  }
  if (lost || HD_LOAD(state->region->stays)) {
    HD_STORE(state->region->stays, HD_STAYS_ALONE); /* until hd_unmap_left */
    return;
  }
  out->function = state->region->api.munmap;
  out->first = state->base;
  out->second = state->region->total_size;
}

static struct HdState* set_up(uint64_t base) {
  struct HdState* state = hd_state();
  struct HdRegion* region = (struct HdRegion*)state - 1;
  /* The stub had every signal blocked, and its threads inherit that. But by
   * these the libc reaches every thread, and waits until each has answered:
   * setuid(2) and its like would hang the program. */
  hd_syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&region->libc_signals, 0,
             sizeof region->libc_signals, 0, 0);
  /* The libc reads the CPU's clock, which would fault if the stub's thread has
   * asked for that. */
  if (!(region->forbidden & HD_FORBIDS_CLOCK)) {
    hd_syscall(SYS_prctl, PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0, 0);
  }
  hd_name_thread(HD_EXECUTOR_THREAD_NAME);
  state->region = region;
  state->base = base;
  state->pid = (int)hd_syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
  if (!(region->forbidden & HD_FORBIDS_READ_SELF)) {
    state->tid_offset = find_tid_offset(state);
  }
  int rendezvous[2] = {-1, -1};
  /* O_DIRECT: what is written at once is read at once, and junk by itself. */
  hd_make_pair(state, O_NONBLOCK | O_DIRECT, rendezvous);
  state->rendezvous_read = hd_file(rendezvous[0]);
  state->rendezvous_write = hd_file(rendezvous[1]);
  region->rendezvous = rendezvous[1];
  region->rendezvous_inode = state->rendezvous_write.inode;
  return state;
}

/* A collection that has taken a probe frees it at its end. */
static void serve(struct HdState* state) {
  struct pollfd polled[HD_MAX_SESSIONS + 1];
  for (int64_t until = 0;;) {
    if (sessions_left(state)) {
      until = 0;
    } else if (!hd_probes_left(state) || (until && hd_now() > until)) {
      return;
    } else if (!until) {
      until = hd_now() + PROBES_NS;
    }
    if (wait_for_news(state, polled) > 0) {
      if (polled[HD_MAX_SESSIONS].revents) {
        answer_door(state);
      }
      for (int i = 0; i < HD_MAX_SESSIONS; i++) {
        if (polled[i].revents &&
            polled[i].fd == state->sessions[i].control_read.number) {
          hd_session_read(&state->sessions[i]);
        }
      }
    }
    look_after(state);
  }
}

/* Sleeps until a record, the rendezvous pipe, or the next thing that is due. */
static int wait_for_news(struct HdState* state, struct pollfd* polled) {
  const int rendezvous_is_ours = hd_is_ours(&state->rendezvous_read);
  long timeout = sessions_left(state) ? HD_LONGEST_POLL_MS : PROBES_POLL_MS;
  for (int i = 0; i < HD_MAX_SESSIONS; i++) {
    struct HdSession* session = &state->sessions[i];
    int listens =
        session->phase == HD_PHASE_OFFERED || session->phase == HD_PHASE_LIVE;
    if (listens && !hd_is_ours(&session->control_read)) {
      hd_session_leave(session);
      listens = 0;
    }
    polled[i].fd = listens ? session->control_read.number : -1;
    polled[i].events = POLLIN;
    polled[i].revents = 0;
    if (session->phase == HD_PHASE_OFFERED) {
      const long left =
          (session->offered_at + HD_OFFER_NS - hd_now()) / 1000000 + 1;
      timeout = left < 0 ? 0 : (left < timeout ? left : timeout);
    }
    if (session->executor_running && timeout > HD_CANCEL_AGAIN_MS &&
        (HD_LOAD(session->stage) == HD_EXECUTOR_TAKES_GIL ||
         hd_has_to_cancel(session) ||
         (hd_wants_cancel(session) &&
          HD_LOAD(session->stage) != HD_EXECUTOR_IDLE))) {
      timeout = HD_CANCEL_AGAIN_MS;
    }
  }
  if (hd_is_free_threaded(state) && HD_LOAD(state->forks_held_since) &&
      timeout > HD_LATE_FORK_MS) {
    timeout = HD_LATE_FORK_MS;
  }
  polled[HD_MAX_SESSIONS].fd =
      rendezvous_is_ours ? state->rendezvous_read.number : -1;
  polled[HD_MAX_SESSIONS].events = POLLIN;
  polled[HD_MAX_SESSIONS].revents = 0;
  return (int)hd_syscall(SYS_poll, (long)polled, HD_MAX_SESSIONS + 1, timeout,
                         0, 0, 0);
}

static void answer_door(struct HdState* state) {
  struct HdRendezvousRecord record;
  for (;;) {
    const long got = hd_read(&state->rendezvous_read, &record, sizeof record);
    if (got <= 0) {
      return;
    }
    if (got == sizeof record && record.kind == HD_RECORD_JOIN) {
      offer(state, record.value);
    }
    /* HD_RECORD_THREAD_DONE only wakes us: look_after joins. */
  }
}

void hd_wake_control(struct HdState* state) {
  const struct HdRendezvousRecord record = {HD_RECORD_THREAD_DONE, 0};
  const struct HdFile rendezvous = state->rendezvous_write;
  hd_write(&rendezvous, &record, sizeof record);
}

static void offer(struct HdState* state, uint32_t nonce) {
  const struct HdSession* session = hd_session_open(state);
  if (session) {
    HD_STORE(state->region->offers[session->index].nonce, nonce);
  } else {
    HD_STORE(state->region->refused, nonce);
  }
}

/* What is due, whatever woke us. */
static void look_after(struct HdState* state) {
  hd_let_fork_if_late(state);
  for (int i = 0; i < HD_MAX_SESSIONS; i++) {
    if (state->sessions[i].phase != HD_PHASE_FREE) {
      hd_session_look_after(&state->sessions[i]);
    }
  }
}

static int sessions_left(const struct HdState* state) {
  for (int i = 0; i < HD_MAX_SESSIONS; i++) {
    if (state->sessions[i].phase != HD_PHASE_FREE) {
      return 1;
    }
  }
  return 0;
}

/* Where a struct pthread keeps its thread's tid: the libc's secret, but our
 * own thread's is before us (glibc x86-64: 0x2d0, musl: 0x30 or 0x38). The
 * upper half of a pointer, 0x7f.., may look like one: it is never at such a
 * place. */
static uint32_t find_tid_offset(struct HdState* state) {
  const uint64_t self = HD_CALL(state, pthread_self, SelfFunction)();
  const int tid = hd_tid();
  for (uint32_t offset = 16; offset < 1024; offset += 8) {
    if (*(const int*)(self + offset) == tid) {
      return offset;
    }
  }
  return 0;
}
