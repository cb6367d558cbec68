/* How an evaluation is looked at where there is no GIL: probes.c. */
#ifndef HANGDBG_PROBES_H
#define HANGDBG_PROBES_H

#include "injector/bootstrap/places.h"

/* The evaluating thread: around what may be cancelled. After the end of it no
 * probe is left, but for one that a collection may have taken. */
void hd_probes_begin(struct HdState* state, struct HdRunning* running);
void hd_probes_end(struct HdState* state, struct HdRunning* running);

/* After the last evaluation: whether one is yet to be freed, or a thread of the
 * program has not left one's destructor. */
int hd_probes_left(const struct HdState* state);
/* The destructor: (HdPyObject*). */
void hd_look_entry(HdPyObject* probe);

/* The canceller, while `running` is HD_CANCELLING: one that is to be dropped
 * afterwards. 0: one is on its way already, or none is left, or it may not. */
HdPyObject* hd_probe_take(struct HdRunning* running, int may_look);
void hd_probe_drop(struct HdState* state,
                   struct HdRunning* running,
                   HdPyObject* probe);
int hd_has_probes(const struct HdRunning* running);

/* Until a thread has looked, but no longer than a moment. */
void hd_probes_await(struct HdState* state, uint32_t looks);

/* cancel.c: whether no lock is lost by what comes up right there. */
int hd_may_raise_here(struct HdRunning* running, const struct HdStack* stack);

#endif
