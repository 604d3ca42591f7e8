/* The thread policy, all of it.
 *
 * One thread unless the caller asks for more; never more than the processors
 * at hand, than OMP_THREAD_LIMIT, or than one per `grain` units of work; one
 * without OpenMP and one in a forked child (an OpenMP pool does not survive a
 * fork). Every parallel region carries num_threads(dph_threads(...)); the
 * global OpenMP settings are never touched. Results may not depend on it. */
#ifndef DPH_THREADS_H_INCLUDED
#define DPH_THREADS_H_INCLUDED

#include <stddef.h>

/* To be called once when the library loads: remembers the process. */
void dph_threads_init(void);

/* Threads to use for `work` units when `requested` were asked for; >= 1. */
int dph_threads(int requested, size_t work, size_t grain);

/* The largest number of threads that this build could use here; >= 1. */
int dph_threads_max(void);

#endif
