/* Walks over rows on one or several threads, with answers that do not depend on how many.
 *
 * The rows are cut into chunks whose length depends on the number of columns alone.
 * chunk(task, part) runs once for each chunk, on up to `lanes` threads: what it needs for
 * work is that of part.lane, what it adds up goes to sum number part.sum, and two parts
 * that run at the same time differ in both. fold(task, sum) adds such a sum to the total
 * and clears it, on the calling thread.
 *
 * Exact integers: a sum per lane, folded at the end; no order can be seen.
 * Doubles (`ordered`): a sum per chunk of a wave, folded after the wave in the order of
 * the rows. The total is that of the chunks in their order: the same bits with any number
 * of threads, and without OpenMP.
 *
 * A wave is some 16 million numbers per lane. The poll runs between waves, on the calling
 * thread. chunk() must not take memory, fail or call R. */
#ifndef DPH_PARALLEL_H_INCLUDED
#define DPH_PARALLEL_H_INCLUDED

#include "dph_base.h"

typedef struct {
  size_t lane, sum;
  size_t from, to; /* rows from, ..., to - 1 */
} dph_part;

typedef struct {
  void *task;
  void (*chunk)(void *task, const dph_part *part);
  void (*fold)(void *task, size_t sum); /* or NULL */
  int ordered;
  size_t rows, length; /* of a chunk: a multiple of 256 */
  size_t lanes, wave;  /* threads; chunks of a wave */
} dph_walk;

/* Sets all but the functions and the task. sum_bytes: the memory of one sum, of which an
 * ordered walk takes little. */
dph_walk dph_walk_plan(size_t rows, size_t columns, int threads, int ordered,
                       size_t sum_bytes);

/* How many sums chunk() may ask for. */
size_t dph_walk_sums(const dph_walk *walk);

dph_status dph_walk_run(const dph_walk *walk, const dph_poll *poll, dph_error *err);

#endif
