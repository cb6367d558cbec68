// A thread that is in a restartable sequence all the time (rseq(2)).
#include <linux/rseq.h>
#include <stddef.h>
#include <stdint.h>

// Where glibc 2.35 and later have registered each thread's.
extern const ptrdiff_t __rseq_offset;

// Until *stop is set; returns how often the kernel sent it back.
uint64_t spin_in_sequence(volatile uint64_t* stop) {
  struct rseq* area =
      (struct rseq*)((char*)__builtin_thread_pointer() + __rseq_offset);
  uint64_t sent_back = 0;
  __asm__ volatile(
      // struct rseq_cs: version, flags, start, length, abort
      ".pushsection .data.rel, \"aw\"\n"
      ".balign 32\n"
      "0: .long 0, 0\n"
      "   .quad 1f, 2f - 1f, 3f\n"
      ".popsection\n"
      "4: leaq 0b(%%rip), %%rax\n"
      "   movq %%rax, %[sequence]\n"
      "1: cmpq $0, (%[stop])\n"
      "   je 1b\n"
      "2: jmp 5f\n"
      "   .long 0x53053053\n"  // the signature that glibc has given
      "3: incq %[sent_back]\n"
      "   jmp 4b\n"
      "5: movq $0, %[sequence]\n"
      : [sequence] "+m"(area->rseq_cs), [sent_back] "+r"(sent_back)
      : [stop] "r"(stop)
      : "rax", "memory", "cc");
  return sent_back;
}
