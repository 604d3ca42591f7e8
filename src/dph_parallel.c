/* Waves of chunks; see dph_parallel.h. */
#include "dph_parallel.h"

#include <string.h>

#include "dph_threads.h"

#ifdef _OPENMP
#include <omp.h>
#endif

#define CHUNK_CELLS 65536
#define CHUNK_MAX 16384
#define ROWS_UNIT 256
#define CHUNKS_PER_LANE 256
#define SUM_BYTES 1048576 /* of the sums of a lane, where there are several */

static size_t chunk_rows(size_t columns) {
  const size_t rows = CHUNK_CELLS / (columns > 0 ? columns : 1) / ROWS_UNIT * ROWS_UNIT;
  if (rows > CHUNK_MAX) {
    return CHUNK_MAX;
  }
  return rows > ROWS_UNIT ? rows : ROWS_UNIT;
}

dph_walk dph_walk_plan(size_t rows, size_t columns, int threads, int ordered,
                       size_t sum_bytes) {
  dph_walk walk;
  size_t each = CHUNKS_PER_LANE;
  memset(&walk, 0, sizeof walk);
  if (ordered && sum_bytes > SUM_BYTES / CHUNKS_PER_LANE) {
    each = sum_bytes < SUM_BYTES ? SUM_BYTES / sum_bytes : 1;
  }
  walk.ordered = ordered;
  walk.rows = rows;
  walk.length = chunk_rows(columns);
  walk.lanes = (size_t)dph_threads(threads, rows, walk.length);
  walk.wave = walk.lanes * each;
  return walk;
}

size_t dph_walk_sums(const dph_walk *walk) {
  return walk->ordered ? walk->wave : walk->lanes;
}

static void run_part(const dph_walk *walk, size_t first, size_t at, size_t lane) {
  const size_t from = (first + at) * walk->length;
  const size_t left = walk->rows - from;
  const dph_part part = {lane, walk->ordered ? at : lane, from,
                         from + (left < walk->length ? left : walk->length)};
  walk->chunk(walk->task, &part);
}

/* Chunks first, ..., first + count - 1. One lane stays out of OpenMP altogether. */
static void run_wave(const dph_walk *walk, size_t first, size_t count) {
#ifdef _OPENMP
  if (walk->lanes > 1 && count > 1) {
    const int lanes = (int)walk->lanes;
#pragma omp parallel for num_threads(lanes) schedule(dynamic, 1)
    for (size_t at = 0; at < count; at++) {
      run_part(walk, first, at, (size_t)omp_get_thread_num());
    }
    return;
  }
#endif
  for (size_t at = 0; at < count; at++) {
    run_part(walk, first, at, 0);
  }
}

static void fold(const dph_walk *walk, size_t sums) {
  for (size_t sum = 0; walk->fold && sum < sums; sum++) {
    walk->fold(walk->task, sum);
  }
}

dph_status dph_walk_run(const dph_walk *walk, const dph_poll *poll, dph_error *err) {
  const size_t chunks = walk->rows / walk->length + (walk->rows % walk->length != 0);
  for (size_t first = 0; first < chunks; first += walk->wave) {
    const size_t left = chunks - first;
    const size_t count = left < walk->wave ? left : walk->wave;
    DPH_TRY(dph_check_poll(poll, err));
    run_wave(walk, first, count);
    if (walk->ordered) {
      fold(walk, count);
    }
  }
  if (!walk->ordered) {
    fold(walk, walk->lanes);
  }
  return DPH_OK;
}
