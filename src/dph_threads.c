#include "dph_threads.h"

#include <stdint.h>

#if !defined(_WIN32)
#include <sys/types.h>
#include <unistd.h>
#endif

#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_num_procs(void) { return 1; }
static int omp_get_thread_limit(void) { return 1; }
#endif

static int64_t home_process = -1;

static int64_t this_process(void) {
#if defined(_WIN32)
  return 0;
#else
  return (int64_t)getpid();
#endif
}

void dph_threads_init(void) { home_process = this_process(); }

int dph_threads_max(void) {
  if (home_process != this_process()) {
    return 1;
  }
  const int processors = omp_get_num_procs(), limit = omp_get_thread_limit();
  const int most = processors < limit ? processors : limit;
  return most > 1 ? most : 1;
}

int dph_threads(int requested, size_t work, size_t grain) {
  const int most = dph_threads_max();
  const size_t useful = grain > 0 ? work / grain : work;
  int threads = requested < most ? requested : most;
  if (threads > 1 && useful < (size_t)threads) {
    threads = (int)useful;
  }
  return threads > 1 ? threads : 1;
}
