/* What cancel.c knows of the place where a thread stands. */
#ifndef HANGDBG_PLACES_H
#define HANGDBG_PLACES_H

#include "injector/bootstrap/bootstrap.h"

/* What a function does. */
enum HdPlace {
  HD_PLAIN,   /* it catches nothing and names no lock: nothing is lost there */
  HD_CATCHES, /* it has a `try` or a `with` */
  HD_LOCKS,   /* by a name, it or one that it uses takes or gives back a lock */
};

/* Where a thread stands. */
struct HdStack {
  enum HdPlace place; /* its innermost function; or a caller, if that is more */
  enum HdPlace callers; /* all of them, as looked at as the innermost */
  int is_wait;   /* threading's Condition.wait: it is made to be interrupted */
  uint64_t code; /* of the innermost, and its instruction */
  long at;
  int is_call; /* what that does */
  int is_after_round;
  int is_first;
};

/* Of what an expression has called; below it is our run(), and in a suspended
 * thread what the program does. `thread`: a PyThreadState, the own or not a
 * running one.
 */
struct HdStack hd_read_stack(struct HdState* state, void* thread);

/* Whether Python looks for an exception after each instruction. */
static inline int hd_looks_anywhere(const struct HdState* state) {
  return state->region->api.cancels_anywhere != 0;
}

#endif
