/* Winsorised column sums; see dph_sums.h. */
#include "dph_sums.h"

#include <string.h>

#include "dph_parallel.h"

/* One row of `exact` or of `plain` per sum of the walk, padded so that no two of them
 * share a line of the cache. */
typedef struct {
  const dph_rows *rows;
  double limit;
  size_t stride;
  int64_t *exact, *exact_sum;
  double *plain, *plain_sum;
} sums_task;

static int is_there(const dph_rows *rows, double v, size_t i) {
  return v == v && (!rows->use || rows->use[i] != 0);
}

static void load_block(const dph_rows *rows, size_t j, size_t start, double *z) {
  const size_t left = rows->n - start;
  const size_t len = left < DPH_BLOCK ? left : DPH_BLOCK;
  const double *x = rows->x + j * rows->n + start;
  memset(z, 0, DPH_BLOCK * sizeof *z);
  for (size_t i = 0; i < len; i++) {
    if (is_there(rows, x[i], start + i)) {
      z[i] = (x[i] - rows->center[j]) * rows->inv_scale[j];
    }
  }
}

static void sum_chunk(void *data, const dph_part *part) {
  const sums_task *task = data;
  double z[DPH_BLOCK], one[DPH_BLOCK];
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    one[i] = 1.0;
  }
  for (size_t j = 0; j < task->rows->p; j++) {
    const size_t at = part->sum * task->stride + j;
    for (size_t start = part->from; start < part->to; start += DPH_BLOCK) {
      load_block(task->rows, j, start, z);
      if (task->plain) {
        task->plain[at] += dph_block_plain_sum(z, one);
      } else {
        task->exact[at] += (int64_t)dph_block_fixed_sum(z, one, task->limit);
      }
    }
  }
}

static void count_chunk(void *data, const dph_part *part) {
  const sums_task *task = data;
  const dph_rows *rows = task->rows;
  for (size_t j = 0; j < rows->p; j++) {
    int64_t count = 0;
    for (size_t i = part->from; i < part->to; i++) {
      count += is_there(rows, rows->x[j * rows->n + i], i);
    }
    task->exact[part->sum * task->stride + j] += count;
  }
}

static void sum_fold(void *data, size_t sum) {
  const sums_task *task = data;
  for (size_t j = 0; j < task->rows->p; j++) {
    const size_t at = sum * task->stride + j;
    if (task->plain) {
      task->plain_sum[j] += task->plain[at];
      task->plain[at] = 0.0;
    } else {
      task->exact_sum[j] += task->exact[at];
      task->exact[at] = 0;
    }
  }
}

/* The totals start at zero; the walk's sums are taken and given back here. */
static dph_status run_sums(sums_task *task, void (*chunk)(void *, const dph_part *),
                           const dph_poll *poll, dph_error *err) {
  const size_t p = task->rows->p;
  size_t cells = 0;
  void *sums = NULL;
  task->stride = (p + 15) / 8 * 8;
  dph_walk walk = dph_walk_plan(task->rows->n, p, task->rows->threads,
                                task->plain_sum != NULL, task->stride * sizeof(int64_t));
  walk.task = task;
  walk.chunk = chunk;
  walk.fold = sum_fold;
  DPH_TRY(dph_size_mul(dph_walk_sums(&walk), task->stride, &cells, err));
  DPH_TRY(dph_alloc(&sums, cells, sizeof(int64_t), err));
  if (task->plain_sum) {
    memset(task->plain_sum, 0, p * sizeof(double));
    task->plain = sums;
  } else {
    memset(task->exact_sum, 0, p * sizeof(int64_t));
    task->exact = sums;
  }
  const dph_status status = dph_walk_run(&walk, poll, err);
  dph_free(sums);
  return status;
}

dph_status dph_column_sums(const dph_rows *rows, double limit, const dph_poll *poll,
                           int64_t *exact, double *plain, dph_error *err) {
  sums_task task = {rows, limit, 0, NULL, plain ? NULL : exact, NULL, plain};
  if (!plain) {
    DPH_TRY(dph_fixed_check(rows->n, limit, err));
  }
  return run_sums(&task, sum_chunk, poll, err);
}

dph_status dph_column_complete(const dph_rows *rows, const dph_poll *poll,
                               int64_t *counts, dph_error *err) {
  sums_task task = {rows, 1.0, 0, NULL, counts, NULL, NULL};
  return run_sums(&task, count_chunk, poll, err);
}
