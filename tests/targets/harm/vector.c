// Runs with all of the CPU's registers full, and compares what comes out.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct state {  // as in vector_state.S
  unsigned char vectors[32][64];
  uint64_t masks[8];
  uint64_t general[8];
  uint64_t carry;
  int64_t direction;
  uint32_t mxcsr;
  uint16_t x87_control;
  _Alignas(16) unsigned char x87[16];
};
_Static_assert(offsetof(struct state, x87) == 2208, "as in vector_state.S");

void vector_round_0(const struct state* in, struct state* out);
void vector_round_1(const struct state* in, struct state* out);
void vector_round_2(const struct state* in, struct state* out);

// shared[0]: stop. shared[1]: rounds. shared[2]: rounds that came out wrong.
void vector_loop(volatile uint64_t* shared, int level) {
  static struct state in, out;
  for (size_t i = 0;
       i < sizeof in.vectors + sizeof in.masks + sizeof in.general; ++i) {
    ((unsigned char*)&in)[i] = (unsigned char)(i * 37 + 11);
  }
  in.mxcsr = 0x7f80;        // rounds towards zero
  in.x87_control = 0x0f7f;  // the same
  const long double pi = 3.14159265358979323846L;
  memcpy(in.x87, &pi, 10);
  in.carry = 1;
  in.direction = -1;
  const size_t widths[] = {16, 32, 64};
  const size_t count = level == 2 ? 32 : 16;
  while (!shared[0]) {
    memset(&out, 0, sizeof out);
    (level == 0   ? vector_round_0
     : level == 1 ? vector_round_1
                  : vector_round_2)(&in, &out);
    int same = memcmp(out.general, in.general, sizeof in.general) == 0 &&
               out.carry == in.carry && out.direction == in.direction &&
               out.mxcsr == in.mxcsr && out.x87_control == in.x87_control &&
               memcmp(out.x87, in.x87, 10) == 0;
    for (size_t i = 0; i < count; ++i) {
      same = same && memcmp(out.vectors[i], in.vectors[i], widths[level]) == 0;
    }
    if (level == 2) {
      same = same && memcmp(out.masks, in.masks, sizeof in.masks) == 0;
    }
    shared[1] += 1;
    shared[2] += !same;
  }
}
