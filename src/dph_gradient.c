/* The fused gradient walk; see dph_gradient.h. */
#include "dph_gradient.h"

#include <string.h>

#include "dph_groups.h"
#include "dph_psi.h"
#include "dph_units.h"

/* Rows that exist but add zero are marked by an infinite norm. */
static void mark_invalid(const unsigned char *valid, size_t len, double *v) {
  for (size_t i = 0; i < len; i++) {
    if (!valid[i]) {
      v[i] = INFINITY;
    }
  }
}

/* ---- walks ------------------------------------------------------------------- */

/* What the functions below say about one block of rows, whose first row is `start`. */
typedef struct pass {
  const dph_rows *rows;
  const double *norm, *w, *root;
  const dph_gradient_rule *rule;
  int with_response;
  const dph_gradient_work *work;
  void (*block)(const struct pass *pass, size_t start, dph_block *work, size_t sum);
  double *out; /* one number per row */
  const dph_octaves *cells;
  /* of sums: each sum of the walk, `stride` apart, and the totals; exact or plain */
  size_t sums, stride;
  int64_t *exact, *exact_total;
  double *plain, *plain_total;
} pass;

static void pass_chunk(void *task, const dph_part *part) {
  const pass *own = task;
  for (size_t start = part->from; start < part->to; start += DPH_BLOCK) {
    own->block(own, start, &own->work->lane[part->lane], part->sum);
  }
}

/* A pass that fills `out`, a number per record or (norms, margins) per row. */
static dph_status run_pass(pass *task, const dph_poll *poll, dph_error *err) {
  dph_walk walk = dph_work_plan(task->rows, task->work, 0, 0);
  walk.task = task;
  walk.chunk = pass_chunk;
  return dph_walk_run(&walk, poll, err);
}

/* The rows, whatever units they belong to. */
static dph_rows one_by_one(const dph_rows *rows) {
  dph_rows single = *rows;
  single.units = NULL;
  return single;
}

static void norms_block(const pass *task, size_t start, dph_block *work, size_t sum) {
  const size_t k = dph_rows_columns(task->rows);
  const size_t len = dph_rows_fill(task->rows, start, work->z, work->y, work->valid);
  (void)sum;
  dph_block_norm(work->z, k, task->root, work->eta);
  if (task->with_response) {
    for (size_t i = 0; i < len; i++) {
      work->eta[i] = sqrt(work->eta[i] * work->eta[i] + work->y[i] * work->y[i]);
    }
  }
  mark_invalid(work->valid, len, work->eta);
  for (size_t i = 0; i < len; i++) { /* Inf - Inf under a root: such a row adds zero */
    work->eta[i] = work->eta[i] < INFINITY ? work->eta[i] : INFINITY;
  }
  memcpy(task->out + start, work->eta, len * sizeof(double));
}

dph_status dph_row_norms(const dph_rows *rows, const double *root, int with_response,
                         const dph_gradient_work *work, const dph_poll *poll, double *norm,
                         dph_error *err) {
  const dph_rows single = one_by_one(rows);
  pass task = {.rows = &single, .root = root, .with_response = with_response, .work = work,
               .block = norms_block, .out = norm};
  return run_pass(&task, poll, err);
}

static void unit_sizes_block(const pass *task, size_t start, dph_block *work, size_t sum) {
  const size_t len = dph_unit_block(task->rows, start, task->norm, task->w, task->rule, work);
  (void)sum;
  memcpy(task->out + start, work->unit->eta, len * sizeof(double));
  mark_invalid(work->unit->valid, len, task->out + start);
}

static void sizes_block(const pass *task, size_t start, dph_block *work, size_t sum) {
  const size_t len = dph_block_psi(task->rows, start, task->norm, task->w, task->rule, work);
  (void)sum;
  for (size_t i = 0; i < len; i++) {
    task->out[start + i] = fabs(work->psi[i]) * task->norm[start + i];
  }
  mark_invalid(work->valid, len, task->out + start);
}

dph_status dph_gradient_sizes(const dph_rows *rows, const double *norm, const double *w,
                              const dph_loss *loss, const double *root,
                              const dph_gradient_work *work, const dph_poll *poll,
                              double *size, dph_error *err) {
  const dph_gradient_rule rule = {.loss = loss, .root = root};
  pass task = {.rows = rows, .norm = norm, .w = w, .rule = &rule, .work = work,
               .block = rows->units ? unit_sizes_block : sizes_block, .out = size};
  if (loss->tuned) {
    return dph_fail(err, DPH_ERR_ARGUMENT, "sizes are those of a loss without tuning");
  }
  return run_pass(&task, poll, err);
}

/* ---- sums -------------------------------------------------------------------------- */

/* Kept rows times a number, the others 0. */
DPH_KERNEL static void valid_times(const unsigned char *valid, double by,
                                   double *restrict m) {
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    const double v = m[i] * by;
    m[i] = valid[i] ? v : 0.0;
  }
}

/* Weights of the block's records, in steps. */
static void record_weights(const dph_rows *rows, size_t start, size_t len, const double *norm,
                           const dph_gradient_rule *rule, dph_block *work) {
  const double bound = rule->bound * (1.0 - DPH_NORM_SLACK);
  const double inv_step = rule->step > 0.0 ? 1.0 / rule->step : 1.0;
  const double *size = dph_rows_view(rows, norm, start, len, 0.0, work->work);
  rule->estimator->multiplier(work->psi, size, bound, work->m);
  valid_times(work->valid, inv_step, work->m);
}

/* On the grid, without groups, clamping to +-limit steps is winsorising: nothing is left
 * to transform. */
static dph_element own_element(const dph_gradient_rule *rule) {
  const int by_limit = rule->estimator->element == dph_element_winsorize &&
                       rule->step > 0.0 && rule->groups == 0;
  return by_limit ? NULL : rule->estimator->element;
}

/* The same for units, whose lengths are at hand. */
static void unit_weights(const dph_gradient_rule *rule, dph_block *unit) {
  const double bound = rule->bound * (1.0 - DPH_NORM_SLACK);
  const dph_estimator *clipped = dph_estimator_find("clipped");
  clipped->multiplier(unit->psi, unit->eta, bound, unit->m);
  valid_times(unit->valid, rule->step > 0.0 ? 1.0 / rule->step : 1.0, unit->m);
}

/* Weights in steps: of T(psi z), with the weight of the record's group, or of z; psi is bounded. */
static void coordinate_weights(const dph_rows *rows, size_t start, size_t len,
                               const dph_gradient_rule *rule, dph_block *work) {
  const double inv_step = rule->step > 0.0 ? 1.0 / rule->step : 1.0;
  const int of_z = own_element(rule) == NULL;
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    work->m[i] = of_z ? work->psi[i] * inv_step : inv_step;
  }
  for (size_t i = 0; rule->groups > 0 && i < len; i++) {
    work->m[i] = inv_step * rule->group_weight[rule->group[dph_rows_at(rows, start + i)]];
  }
}

/* Adds column j of the block to its sums, one per group. */
static void add_groups(const dph_rows *rows, size_t start, size_t len,
                       const dph_gradient_rule *rule, const double *z,
                       dph_block *work, int64_t *exact, double *plain) {
  if (exact) {
    dph_block_fixed(z, work->m, rule->limit, work->work);
  }
  for (size_t i = 0; i < len && exact; i++) {
    exact[rule->group[dph_rows_at(rows, start + i)]] += (int64_t)work->work[i];
  }
  for (size_t i = 0; i < len && plain; i++) {
    plain[rule->group[dph_rows_at(rows, start + i)]] += work->m[i] * z[i];
  }
}

static void add_column(const dph_rows *rows, size_t start, size_t len,
                       const dph_gradient_rule *rule, size_t j, dph_block *work,
                       int64_t *exact, double *plain) {
  double *z = work->z + j * DPH_BLOCK;
  const size_t at = j * dph_rule_sums(rule);
  const dph_element element = rule->estimator->multiplier ? NULL : own_element(rule);
  if (element) {
    element(z, work->psi, &rule->element);
  }
  if (rule->groups > 0) {
    add_groups(rows, start, len, rule, z, work, exact ? exact + at : NULL,
               plain ? plain + at : NULL);
  } else if (exact) {
    exact[at] += (int64_t)dph_block_fixed_sum(z, work->m, rule->limit);
  } else {
    plain[at] += dph_block_plain_sum(z, work->m);
  }
}

static dph_status rule_check(const dph_rows *rows, const dph_gradient_rule *rule,
                             dph_error *err) {
  if (rule->groups > 0 && (rule->estimator->multiplier || !rule->group)) {
    return dph_fail(err, DPH_ERR_ARGUMENT, "groups go with coordinates only");
  }
  if (rule->groups > 0 && rows->units) {
    return dph_fail(err, DPH_ERR_ARGUMENT, "groups go with single rows only");
  }
  return rule->step > 0.0 ? dph_fixed_check(dph_rows_records(rows), rule->limit, err) : DPH_OK;
}

/* The block's records with their weights, in steps: rows, or units. */
static dph_block *weighted_block(const pass *task, size_t start, dph_block *work, size_t *len) {
  const dph_gradient_rule *rule = task->rule;
  const int whole = rule->estimator->multiplier != NULL;
  if (task->rows->units) {
    *len = dph_unit_block(task->rows, start, task->norm, task->w, rule, work);
    if (whole) {
      unit_weights(rule, work->unit);
    } else {
      coordinate_weights(task->rows, start, *len, rule, work->unit);
    }
    return work->unit;
  }
  *len = dph_block_psi(task->rows, start, task->norm, task->w, rule, work);
  if (whole) {
    record_weights(task->rows, start, *len, task->norm, rule, work);
  } else {
    dph_bound_psi(rule, work);
    coordinate_weights(task->rows, start, *len, rule, work);
  }
  return work;
}

static void sum_block(const pass *task, size_t start, dph_block *work, size_t sum) {
  const dph_rows *rows = task->rows;
  const size_t k = dph_rows_columns(rows), at = sum * task->stride;
  size_t len = 0;
  work = weighted_block(task, start, work, &len);
  for (size_t j = 0; j < k; j++) {
    add_column(rows, start, len, task->rule, j, work, task->exact ? task->exact + at : NULL,
               task->exact ? NULL : task->plain + at);
  }
}

static void sum_fold(void *data, size_t sum) {
  const pass *task = data;
  const size_t first = sum * task->stride;
  for (size_t j = 0; j < task->sums; j++) {
    if (task->exact) {
      task->exact_total[j] += task->exact[first + j];
      task->exact[first + j] = 0;
    } else {
      task->plain_total[j] += task->plain[first + j];
      task->plain[first + j] = 0.0;
    }
  }
}

/* Sums lie so far apart that no two share a line of the cache. */
static dph_status run_sums(pass *task, const dph_poll *poll, dph_error *err) {
  const int plain = task->plain_total != NULL;
  size_t cells = 0;
  void *memory = NULL;
  task->stride = (task->sums + 15) / 8 * 8;
  dph_walk walk = dph_work_plan(task->rows, task->work, plain,
                                task->stride * sizeof(int64_t));
  walk.task = task;
  walk.chunk = pass_chunk;
  walk.fold = sum_fold;
  DPH_TRY(dph_size_mul(dph_walk_sums(&walk), task->stride, &cells, err));
  DPH_TRY(dph_alloc(&memory, cells, sizeof(int64_t), err));
  task->exact = plain ? NULL : memory;
  task->plain = plain ? memory : NULL;
  const dph_status status = dph_walk_run(&walk, poll, err);
  dph_free(memory);
  return status;
}

dph_status dph_gradient_sum(const dph_rows *rows, const double *norm, const double *w,
                            const dph_gradient_rule *rule, const dph_gradient_work *work,
                            const dph_poll *poll, int64_t *exact, double *plain,
                            dph_error *err) {
  pass task = {.rows = rows, .norm = norm, .w = w, .rule = rule, .work = work,
               .block = sum_block};
  task.sums = dph_rows_columns(rows) * dph_rule_sums(rule);
  DPH_TRY(rule_check(rows, rule, err));
  if (rule->step > 0.0) {
    task.exact_total = exact;
    memset(exact, 0, task.sums * sizeof *exact);
  } else {
    task.plain_total = plain;
    memset(plain, 0, task.sums * sizeof *plain);
  }
  return run_sums(&task, poll, err);
}

dph_status dph_gradient_statistic(const dph_rows *rows, const double *norm, const double *w,
                                  const dph_gradient_rule *rule, const int64_t *root_int,
                                  const dph_gradient_work *work, const dph_poll *poll,
                                  int64_t *sum, int64_t *statistic, dph_error *err) {
  const size_t k = dph_rows_columns(rows);
  if (root_int && !rule->estimator->multiplier) {
    return dph_fail(err, DPH_ERR_ARGUMENT, "no root goes with coordinates");
  }
  DPH_TRY(dph_gradient_sum(rows, norm, w, rule, work, poll, sum, NULL, err));
  if (rule->groups > 0) {
    dph_group_median(sum, rule->groups, k, statistic);
    return DPH_OK;
  }
  if (root_int) {
    return dph_fixed_lower(root_int, k, sum, statistic, err);
  }
  memcpy(statistic, sum, k * sizeof *sum);
  return DPH_OK;
}

static void margins_block(const pass *task, size_t start, dph_block *work, size_t sum) {
  const dph_rows *rows = task->rows;
  const size_t len = dph_rows_fill_margin(rows, start, task->norm, task->w, work->z, work->y,
                                          work->eta, work->valid);
  (void)sum;
  for (size_t i = 0; i < len; i++) {
    task->out[dph_rows_at(rows, start + i)] = work->eta[i];
  }
}

dph_status dph_margins(const dph_rows *rows, const double *norm, const double *w,
                       const dph_gradient_work *work, const dph_poll *poll, double *eta,
                       dph_error *err) {
  const dph_rows single = one_by_one(rows);
  pass task = {.rows = &single, .norm = norm, .w = w, .work = work, .block = margins_block,
               .out = eta};
  return run_pass(&task, poll, err);
}

/* Coordinates of the gradients of one block, in place of work->z, counted column by column;
 * NaN, which no cell takes, for a row that adds zero. */
static void count_block(const pass *task, size_t start, dph_block *work, size_t sum) {
  const size_t k = dph_rows_columns(task->rows);
  size_t len;
  if (task->rows->units) {
    len = dph_unit_block(task->rows, start, task->norm, task->w, task->rule, work);
    work = work->unit;
  } else {
    len = dph_block_psi(task->rows, start, task->norm, task->w, task->rule, work);
    dph_bound_psi(task->rule, work);
  }
  for (size_t j = 0; j < k; j++) {
    double *z = work->z + j * DPH_BLOCK;
    dph_element_plain(z, work->psi, &task->rule->element);
    for (size_t i = 0; i < len; i++) {
      z[i] = work->valid[i] ? z[i] : NAN;
    }
    dph_octaves_add(task->cells, z, len, task->exact + sum * task->stride);
  }
}

dph_status dph_count_coordinates(const dph_rows *rows, const double *norm, const double *w,
                                 const dph_gradient_rule *rule, const dph_octaves *cells,
                                 const dph_gradient_work *work, const dph_poll *poll,
                                 int64_t *counts, dph_error *err) {
  pass task = {.rows = rows, .norm = norm, .w = w, .rule = rule, .work = work,
               .block = count_block, .cells = cells, .exact_total = counts};
  task.sums = dph_octaves_count(cells);
  memset(counts, 0, task.sums * sizeof *counts);
  return run_sums(&task, poll, err);
}
