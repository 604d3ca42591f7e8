/* Exact second moments; see dph_moments.h. */
#include "dph_moments.h"

#include <string.h>

#include "dph_parallel.h"

/* Sums over one block for columns a and b, b + 1 (two at a time). */
DPH_KERNEL static void dot_two(const double *restrict za, const double *restrict zb,
                               const double *restrict zc, double out[2]) {
  double s[4] = {0.0, 0.0, 0.0, 0.0}, t[4] = {0.0, 0.0, 0.0, 0.0};
  double u[4] = {0.0, 0.0, 0.0, 0.0}, v[4] = {0.0, 0.0, 0.0, 0.0};
  for (size_t i = 0; i < DPH_BLOCK; i += 8) {
    for (size_t j = 0; j < 4; j++) {
      s[j] += za[i + j] * zb[i + j];
    }
    for (size_t j = 0; j < 4; j++) {
      t[j] += za[i + 4 + j] * zb[i + 4 + j];
    }
    for (size_t j = 0; j < 4; j++) {
      u[j] += za[i + j] * zc[i + j];
    }
    for (size_t j = 0; j < 4; j++) {
      v[j] += za[i + 4 + j] * zc[i + 4 + j];
    }
  }
  out[0] = ((s[0] + s[1]) + (s[2] + s[3])) + ((t[0] + t[1]) + (t[2] + t[3]));
  out[1] = ((u[0] + u[1]) + (u[2] + u[3])) + ((v[0] + v[1]) + (v[2] + v[3]));
}

/* Adds the block's products to the packed upper triangle. */
static void add_block(const double *z, size_t m, int64_t *exact, double *plain) {
  size_t at = 0;
  for (size_t b = 0; b < m; b++) {
    size_t a = 0;
    for (; a <= b; a += 2, at += 2) {
      double s[2];
      const size_t next = a + 1 <= b ? a + 1 : a;
      dot_two(z + b * DPH_BLOCK, z + a * DPH_BLOCK, z + next * DPH_BLOCK, s);
      for (size_t j = 0; j < 2 && a + j <= b; j++) {
        if (exact) {
          exact[at + j] += (int64_t)s[j];
        } else {
          plain[at + j] += s[j];
        }
      }
    }
    at -= a - (b + 1);
  }
}

/* Scales, clips and rounds the block's rows in place. */
DPH_KERNEL static void quantise(double *z, size_t m, const double *factor, int round_it) {
  for (size_t j = 0; j < m; j++) {
    double *v = z + j * DPH_BLOCK;
    for (size_t i = 0; i < DPH_BLOCK; i++) {
      const double scaled = v[i] * factor[i];
      v[i] = round_it ? dph_round(scaled) : scaled;
    }
  }
}

static double clip_factor(double norm, const dph_moments_rule *rule) {
  const double bound = rule->bound * (1.0 - DPH_NORM_SLACK);
  const double factor = norm <= bound ? 1.0 : bound / norm;
  return rule->step > 0.0 ? factor / rule->step : factor;
}

/* Column a of the block under the root, whose row a has entries k apart; in place, for of column
 * a it reads what it has not written. */
DPH_KERNEL static void root_column(double *z, const double *root, size_t a, size_t k) {
  double *out = z + a * DPH_BLOCK;
  for (size_t i = 0; i < DPH_BLOCK; i += 8) {
    double s[4] = {0.0, 0.0, 0.0, 0.0}, t[4] = {0.0, 0.0, 0.0, 0.0};
    for (size_t b = 0; b <= a; b++) {
      const double *at = z + b * DPH_BLOCK + i;
      const double r = root[a + b * k];
      for (size_t j = 0; j < 4; j++) {
        s[j] += r * at[j];
      }
      for (size_t j = 0; j < 4; j++) {
        t[j] += r * at[4 + j];
      }
    }
    for (size_t j = 0; j < 4; j++) {
      out[i + j] = s[j];
      out[i + 4 + j] = t[j];
    }
  }
}

/* What a row of that length is multiplied with; NaN counts as 0. */
static double weight_factor(double weight, double size, const dph_moments_rule *rule) {
  const double most = rule->bound * (1.0 - DPH_NORM_SLACK) / (size > 1e-100 ? size : 1e-100);
  const double own = weight > 0.0 ? (weight < most ? weight : most) : 0.0;
  return rule->step > 0.0 ? own / rule->step : own;
}

/* Each lane has its block of rows, each sum of the walk is packed (exact or plain). */
typedef struct {
  const dph_rows *rows;
  const double *norm;
  const dph_moments_rule *rule;
  size_t m, packed;
  const dph_gradient_work *work;
  int64_t *exact, *exact_sum;
  double *plain, *plain_sum;
} moments_task;

/* Rows under the root, the lengths of what came out, and their factors. A row that overflows
 * there is a row of zeros. */
static void root_factors(const moments_task *task, size_t start, size_t len,
                         const dph_block *work, double *factor) {
  const dph_moments_rule *rule = task->rule;
  for (size_t a = task->m; a-- > 0;) { /* the last first: the others are still needed */
    root_column(work->z, rule->root, a, task->m);
  }
  dph_block_norm(work->z, task->m, NULL, work->eta);
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    if (work->eta[i] < INFINITY && i < len) {
      factor[i] = weight_factor(rule->weight[start + i], work->eta[i], rule);
    } else {
      for (size_t j = 0; j < task->m; j++) {
        work->z[j * DPH_BLOCK + i] = 0.0;
      }
    }
  }
}

static void add_rows(const moments_task *task, size_t start, const dph_part *part) {
  const dph_rows *rows = task->rows;
  const dph_block *work = &task->work->lane[part->lane];
  const size_t at = part->sum * task->packed;
  const double *norm = task->norm;
  const dph_moments_rule *rule = task->rule;
  double factor[DPH_BLOCK] = {0.0};
  double *y = rows->y ? work->z + dph_rows_columns(rows) * DPH_BLOCK : NULL;
  const size_t len = dph_rows_fill(rows, start, work->z, y, work->valid);
  if (rule->weight) {
    root_factors(task, start, len, work, factor);
  }
  for (size_t i = 0; i < len && !rule->weight; i++) {
    factor[i] = norm[start + i] < INFINITY ? clip_factor(norm[start + i], rule) : 0.0;
  }
  quantise(work->z, task->m, factor, task->exact != NULL);
  add_block(work->z, task->m, task->exact ? task->exact + at : NULL,
            task->exact ? NULL : task->plain + at);
}

static void moments_chunk(void *data, const dph_part *part) {
  for (size_t start = part->from; start < part->to; start += DPH_BLOCK) {
    add_rows(data, start, part);
  }
}

static void moments_fold(void *data, size_t sum) {
  const moments_task *task = data;
  const size_t first = sum * task->packed;
  for (size_t j = 0; j < task->packed; j++) {
    if (task->exact) {
      task->exact_sum[j] += task->exact[first + j];
    } else {
      task->plain_sum[j] += task->plain[first + j];
    }
  }
  memset(task->exact ? (void *)(task->exact + first) : (void *)(task->plain + first), 0,
         task->packed * sizeof(int64_t));
}

/* Takes the sums and the working space, walks, gives them back. */
static dph_status run_moments(moments_task *task, const dph_poll *poll, dph_error *err) {
  const int plain = task->plain_sum != NULL;
  dph_gradient_work work;
  size_t cells = 0;
  void *sums = NULL;
  DPH_TRY(dph_gradient_work_make(task->rows, &work, err));
  dph_walk walk = dph_work_plan(task->rows, &work, plain, task->packed * sizeof(int64_t));
  walk.task = task;
  walk.chunk = moments_chunk;
  walk.fold = moments_fold;
  dph_status status = dph_size_mul(dph_walk_sums(&walk), task->packed, &cells, err);
  if (status == DPH_OK) {
    status = dph_alloc(&sums, cells, sizeof(int64_t), err);
  }
  if (status == DPH_OK) {
    task->work = &work;
    task->exact = plain ? NULL : sums;
    task->plain = plain ? sums : NULL;
    status = dph_walk_run(&walk, poll, err);
  }
  dph_free(sums);
  dph_gradient_work_free(&work);
  return status;
}

dph_status dph_moments_sum(const dph_rows *rows, const double *norm,
                           const dph_moments_rule *rule, const dph_poll *poll,
                           int64_t *exact, double *plain, dph_error *err) {
  const size_t m = dph_rows_columns(rows) + (rows->y ? 1 : 0);
  const size_t packed = m * (m + 1) / 2;
  moments_task task = {rows, norm, rule, m, packed, NULL, NULL, NULL, NULL, NULL};
  if (rule->weight && (rows->y || !rule->root)) {
    return dph_fail(err, DPH_ERR_ARGUMENT, "weights go with a root and no response");
  }
  if (rule->step > 0.0) {
    const double c = rule->bound / rule->step + sqrt((double)m) / 2.0;
    if (!(c * c < 4398046511104.0) || !((double)rows->n * c * c < 4611686018427387904.0)) {
      return dph_fail(err, DPH_ERR_OVERFLOW, "the grid of the second moments does not fit");
    }
    memset(exact, 0, packed * sizeof *exact);
    task.exact_sum = exact;
  } else {
    memset(plain, 0, packed * sizeof *plain);
    task.plain_sum = plain;
  }
  return run_moments(&task, poll, err);
}

dph_status dph_moments_noise(dph_rng *rng, dph_noise_law law, size_t m, int64_t *packed,
                             dph_error *err) {
  dph_noise_law off = law;
  size_t at = 0;
  off.bits += DPH_MOMENTS_OFF_BITS;
  for (size_t b = 0; b < m; b++) {
    for (size_t a = 0; a <= b; a++, at++) {
      if (a != b) {
        packed[at] *= DPH_MOMENTS_OFF;
      }
      DPH_TRY(dph_add_noise(rng, a == b ? law : off, &packed[at], 1, err));
    }
  }
  return DPH_OK;
}
