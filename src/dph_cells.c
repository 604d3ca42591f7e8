/* Counting records in cells; see dph_cells.h. */
#include "dph_cells.h"

#include <string.h>

#include "dph_parallel.h"
#include "dph_threads.h"

dph_status dph_octaves_check(const dph_octaves *cells, dph_error *err) {
  if (cells->lo < -1100 || cells->hi > 1100 || cells->lo >= cells->hi ||
      (cells->sub != 1 && cells->sub != 2 && cells->sub != 4)) {
    return dph_fail(err, DPH_ERR_ARGUMENT, "octave cells out of range");
  }
  return DPH_OK;
}

static size_t half_count(const dph_octaves *cells) {
  return (size_t)(cells->hi - cells->lo) * (size_t)cells->sub;
}

size_t dph_octaves_count(const dph_octaves *cells) {
  return (cells->has_sign ? 2 : 1) * half_count(cells) + 1;
}

/* The part of the octave by the significand of a normal number: parts start at 2^(1/4),
 * 2^(1/2), 2^(3/4), of which these are the bits. */
static inline int sub_cell(uint64_t bits, int sub) {
  const uint64_t quarter = UINT64_C(0x306fe0a31b715), half = UINT64_C(0x6a09e667f3bcd);
  const uint64_t three_quarters = UINT64_C(0xae89f995ad3ad);
  bits &= (UINT64_C(1) << 52) - 1;
  if (sub == 4) {
    return (bits >= quarter) + (bits >= half) + (bits >= three_quarters);
  }
  return sub == 2 && bits >= half;
}

/* 0, ..., half_count - 1 for |v| > 0. */
static size_t size_cell(const dph_octaves *cells, double v) {
  const size_t last = half_count(cells) - 1;
  uint64_t bits;
  int octave;
  if (v > DBL_MAX || v < -DBL_MAX) {
    return last;
  }
  const double m = 2.0 * frexp(fabs(v), &octave); /* |v| = m 2^(octave - 1) */
  octave -= 1;
  if (octave < cells->lo) {
    return 0;
  }
  if (octave >= cells->hi) {
    return last;
  }
  memcpy(&bits, &m, sizeof bits);
  return (size_t)(octave - cells->lo) * (size_t)cells->sub +
         (size_t)sub_cell(bits, cells->sub);
}

size_t dph_octaves_index(const dph_octaves *cells, double v) {
  const size_t zero = cells->has_sign ? half_count(cells) : 0;
  if (v == 0.0) {
    return zero;
  }
  if (cells->has_sign && v < 0.0) {
    return zero - 1 - size_cell(cells, v);
  }
  return zero + 1 + size_cell(cells, v);
}

/* The same for the normal numbers, which nearly all are, without a branch on v: signs
 * cannot be foretold. */
static inline size_t quick_index(const dph_octaves *cells, double v) {
  const int64_t last = (int64_t)half_count(cells) - 1;
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  const uint64_t field = (bits >> 52) & 0x7ff;
  if (field == 0 || field == 0x7ff) {
    return dph_octaves_index(cells, v);
  }
  const int64_t octave = (int64_t)field - 1023 - cells->lo;
  int64_t at = octave * cells->sub + sub_cell(bits, cells->sub);
  at = octave < 0 ? 0 : at;
  at = at > last ? last : at;
  const int64_t minus = cells->has_sign ? (int64_t)(bits >> 63) : 0;
  const int64_t zero = cells->has_sign ? last + 1 : 0;
  return (size_t)(zero + (1 - 2 * minus) * (1 + at));
}

/* ---- loading ------------------------------------------------------------------- */

/* One column of the source: x, or the response for j = p. */
typedef struct {
  const double *v, *offset;
  const int *use;
  double center, inv_scale;
} column;

static column column_get(const dph_rows *rows, size_t j) {
  column c = {rows->y, rows->offset, rows->use, rows->y_center, rows->y_inv_scale};
  if (j < rows->p) {
    c.v = rows->x + j * rows->n;
    c.offset = NULL;
    c.center = rows->center[j];
    c.inv_scale = rows->inv_scale[j];
  }
  return c;
}

static double column_value(const column *c, size_t i) {
  const double shift = c->offset ? c->offset[i] : 0.0;
  return ((c->v[i] - shift) - c->center) * c->inv_scale;
}

/* A table of counts over the units (records, or pairs of them) of one column. Each lane
 * has a table of its own: lane 0 the answer, the others `spare`. */
typedef struct {
  column c;
  const uint32_t *perm; /* of pairs, or NULL */
  const dph_octaves *cells;
  double lower, width; /* of equal cells, if cells is NULL */
  double most;         /* what is larger is not counted, nor is NaN */
  size_t m;
  int64_t *counts, *spare;
} count_task;

static count_task new_task(const dph_octaves *cells, size_t m) {
  count_task task;
  memset(&task, 0, sizeof task);
  task.cells = cells;
  task.m = m;
  task.most = INFINITY;
  return task;
}

/* NaN for what is not to be counted. Plain loops: many reads are on their way at once. */
static void load_records(const column *c, size_t from, size_t len, double *v) {
  if (!c->offset) {
    for (size_t i = 0; i < len; i++) {
      v[i] = (c->v[from + i] - c->center) * c->inv_scale;
    }
  } else {
    for (size_t i = 0; i < len; i++) {
      v[i] = column_value(c, from + i);
    }
  }
  for (size_t i = 0; c->use && i < len; i++) {
    v[i] = c->use[from + i] != 0 ? v[i] : NAN;
  }
}

static void load_pairs(const column *c, const uint32_t *perm, size_t len, double *v) {
  if (!c->offset) {
    for (size_t i = 0; i < len; i++) {
      const double a = c->v[perm[2 * i]], b = c->v[perm[2 * i + 1]];
      v[i] = (a - c->center) * c->inv_scale - (b - c->center) * c->inv_scale;
    }
  } else {
    for (size_t i = 0; i < len; i++) {
      v[i] = column_value(c, perm[2 * i]) - column_value(c, perm[2 * i + 1]);
    }
  }
  for (size_t i = 0; i < len; i++) {
    const int use = !c->use || (c->use[perm[2 * i]] != 0 && c->use[perm[2 * i + 1]] != 0);
    v[i] = use ? fabs(v[i]) : NAN;
  }
}

/* ---- counting ------------------------------------------------------------------ */

static size_t equal_index(double v, double lower, double width, size_t m) {
  const double cell = (v - lower) / width;
  if (!(cell >= 0.0)) {
    return 0;
  }
  return cell >= (double)m ? m + 1 : (size_t)cell + 1;
}

static void count_block(const count_task *task, const double *v, size_t len,
                        int64_t *counts) {
  if (task->cells) {
    const dph_octaves cells = *task->cells;
    for (size_t i = 0; i < len; i++) {
      if (v[i] <= task->most) {
        counts[quick_index(&cells, v[i])] += 1;
      }
    }
    return;
  }
  for (size_t i = 0; i < len; i++) {
    if (v[i] <= task->most) {
      counts[equal_index(v[i], task->lower, task->width, task->m - 2)] += 1;
    }
  }
}

void dph_octaves_add(const dph_octaves *cells, const double *v, size_t len,
                     int64_t *counts) {
  for (size_t i = 0; i < len; i++) {
    if (v[i] == v[i]) {
      counts[quick_index(cells, v[i])] += 1;
    }
  }
}

static void count_chunk(void *data, const dph_part *part) {
  const count_task *task = data;
  int64_t *counts = part->lane == 0 ? task->counts : task->spare + (part->lane - 1) * task->m;
  double v[DPH_BLOCK];
  for (size_t from = part->from; from < part->to; from += DPH_BLOCK) {
    const size_t left = part->to - from, len = left < DPH_BLOCK ? left : DPH_BLOCK;
    if (task->perm) {
      load_pairs(&task->c, task->perm + 2 * from, len, v);
    } else {
      load_records(&task->c, from, len, v);
    }
    count_block(task, v, len, counts);
  }
}

/* Fewer lanes where adding up their tables would cost more than they save. */
static dph_walk plan_counts(count_task *task, size_t units, int threads) {
  const int most = dph_threads(threads, units, task->m);
  dph_walk walk = dph_walk_plan(units, 1, most, 0, 0);
  walk.task = task;
  walk.chunk = count_chunk;
  return walk;
}

static dph_status count_column(const dph_walk *walk, const count_task *task,
                               const dph_poll *poll, dph_error *err) {
  const size_t spare = (walk->lanes - 1) * task->m;
  memset(task->counts, 0, task->m * sizeof *task->counts);
  memset(task->spare, 0, spare * sizeof *task->spare);
  DPH_TRY(dph_walk_run(walk, poll, err));
  for (size_t i = 0; i < spare; i++) {
    task->counts[i % task->m] += task->spare[i];
  }
  return DPH_OK;
}

/* The tables of all columns, one after the other, `units` records or pairs each; lower and
 * width as in dph_count_equal(), or NULL. */
static dph_status count_all(const dph_rows *rows, dph_which which, count_task *task,
                            const double *lower, const double *width, size_t units,
                            const dph_poll *poll, int64_t *counts, dph_error *err) {
  const dph_walk walk = plan_counts(task, units, rows->threads);
  dph_status status = DPH_OK;
  size_t size = 0;
  void *spare = NULL;
  DPH_TRY(dph_size_mul(walk.lanes - 1, task->m, &size, err));
  DPH_TRY(dph_alloc(&spare, size, sizeof(int64_t), err));
  task->spare = spare;
  for (size_t j = 0; j < which.size && status == DPH_OK; j++) {
    task->c = column_get(rows, which.index[j]);
    task->lower = lower ? lower[j] : 0.0;
    task->width = width ? width[j] : 1.0;
    task->counts = counts + j * task->m;
    status = count_column(&walk, task, poll, err);
  }
  dph_free(spare);
  return status;
}

dph_status dph_count_columns(const dph_rows *rows, dph_which which,
                             const dph_octaves *cells, const dph_poll *poll,
                             int64_t *counts, dph_error *err) {
  count_task task = new_task(cells, dph_octaves_count(cells));
  return count_all(rows, which, &task, NULL, NULL, rows->n, poll, counts, err);
}

dph_status dph_count_pairs(const dph_rows *rows, dph_which which, const uint32_t *perm,
                           const dph_octaves *cells, const dph_poll *poll,
                           int64_t *counts, dph_error *err) {
  count_task task = new_task(cells, dph_octaves_count(cells));
  task.perm = perm;
  return count_all(rows, which, &task, NULL, NULL, rows->n / 2, poll, counts, err);
}

dph_status dph_count_equal(const dph_rows *rows, dph_which which, const double *lower,
                           const double *width, size_t m, const dph_poll *poll,
                           int64_t *counts, dph_error *err) {
  count_task task = new_task(NULL, m + 2);
  return count_all(rows, which, &task, lower, width, rows->n, poll, counts, err);
}

dph_status dph_count_values(const double *v, size_t n, int threads,
                            const dph_octaves *cells, const dph_poll *poll,
                            int64_t *counts, dph_error *err) {
  const double zero = 0.0, one = 1.0;
  const size_t first = 0;
  const dph_which which = {&first, 1};
  count_task task = new_task(cells, dph_octaves_count(cells));
  dph_rows rows;
  memset(&rows, 0, sizeof rows);
  rows.x = v;
  rows.n = n;
  rows.p = 1;
  rows.center = &zero;
  rows.inv_scale = &one;
  rows.threads = threads;
  task.most = DBL_MAX;
  return count_all(&rows, which, &task, NULL, NULL, n, poll, counts, err);
}
