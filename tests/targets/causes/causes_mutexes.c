/* What a C extension does with mutexes and with OpenMP. causes_locks.py calls
 * these through ctypes, with and without the GIL. */
#include <pthread.h>

static pthread_mutex_t mutexes[2] = {PTHREAD_MUTEX_INITIALIZER,
                                     PTHREAD_MUTEX_INITIALIZER};

int take(int which) {
  return pthread_mutex_lock(&mutexes[which]);
}

int let_go(int which) {
  return pthread_mutex_unlock(&mutexes[which]);
}

#ifdef _OPENMP
double sum_in_parallel(int count) {
  double sum = 0;
#pragma omp parallel for num_threads(4) reduction(+ : sum)
  for (int i = 0; i < count; i++) {
    sum += i;
  }
  return sum;
}
#endif
