/* The fused gradient walk; see dph_gradient.h. */
#include "dph_gradient.h"

#include <string.h>

#include "dph_groups.h"

static void clipped_multiplier(const double *psi, const double *norm, double bound,
                               double *out) {
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    const double size = norm[i] > 1e-100 ? norm[i] : 1e-100;
    const double most = bound / size;
    double m = psi[i] < most ? psi[i] : most; /* NaN becomes most; undone below */
    m = m > -most ? m : -most;
    out[i] = psi[i] == psi[i] ? m : 0.0;
  }
}

static void covariate_multiplier(const double *psi, const double *norm, double bound,
                                 double *out) {
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    const double size = norm[i] > 1e-100 ? norm[i] : 1e-100;
    const double share = size > bound ? bound / size : 1.0;
    double m = psi[i] < 1.0 ? psi[i] : 1.0; /* NaN becomes 1; undone below */
    m = m > -1.0 ? m : -1.0;
    out[i] = psi[i] == psi[i] ? m * share : 0.0;
  }
}

static const dph_estimator estimators[] = {
    {"clipped", clipped_multiplier, NULL, 0},
    {"covariate", covariate_multiplier, NULL, 0},
    {"winsorized", NULL, dph_element_winsorize, 0},
    {"truncated", NULL, dph_element_truncate, 0},
    {"catoni", NULL, dph_element_catoni, 0},
    {"catoni_smooth", NULL, dph_element_catoni_smooth, 0},
    {"shrunken", NULL, dph_element_plain, 1},
};

const dph_estimator *dph_estimator_find(const char *name) {
  for (size_t i = 0; i < sizeof estimators / sizeof estimators[0]; i++) {
    if (strcmp(estimators[i].name, name) == 0) {
      return &estimators[i];
    }
  }
  return NULL;
}

dph_status dph_gradient_work_make(size_t k, dph_gradient_work *w, dph_error *err) {
  size_t cells;
  double *all = NULL;
  void *memory = NULL;
  memset(w, 0, sizeof *w);
  DPH_TRY(dph_size_mul(k + 6, DPH_BLOCK, &cells, err));
  DPH_TRY(dph_alloc(&memory, cells, sizeof(double), err));
  all = memory;
  w->z = all;
  w->y = all + k * DPH_BLOCK;
  w->eta = w->y + DPH_BLOCK;
  w->psi = w->eta + DPH_BLOCK;
  w->m = w->psi + DPH_BLOCK;
  w->work = w->m + DPH_BLOCK;
  w->valid = (unsigned char *)(w->work + DPH_BLOCK);
  return DPH_OK;
}

void dph_gradient_work_free(dph_gradient_work *w) {
  dph_free(w->z);
  memset(w, 0, sizeof *w);
}

/* Rows that exist but add zero are marked by an infinite norm. */
static void mark_invalid(const unsigned char *valid, size_t len, double *v) {
  for (size_t i = 0; i < len; i++) {
    if (!valid[i]) {
      v[i] = INFINITY;
    }
  }
}

/* The poll comes once in 64 blocks (16,384 rows). */
static dph_status poll_block(const dph_poll *poll, size_t start, dph_error *err) {
  return start % (64 * DPH_BLOCK) == 0 ? dph_check_poll(poll, err) : DPH_OK;
}

dph_status dph_row_norms(const dph_rows *rows, const double *root, int with_response,
                         dph_gradient_work *work, const dph_poll *poll, double *norm,
                         dph_error *err) {
  const size_t k = dph_rows_columns(rows);
  for (size_t start = 0; start < rows->n; start += DPH_BLOCK) {
    DPH_TRY(poll_block(poll, start, err));
    const size_t len = dph_rows_fill(rows, start, work->z, work->y, work->valid);
    dph_block_norm(work->z, k, root, work->work, work->eta);
    if (with_response) {
      for (size_t i = 0; i < len; i++) {
        work->eta[i] = sqrt(work->eta[i] * work->eta[i] + work->y[i] * work->y[i]);
      }
    }
    mark_invalid(work->valid, len, work->eta);
    memcpy(norm + start, work->eta, len * sizeof(double));
  }
  return DPH_OK;
}

static void clamp(double *v, size_t len, double bound) {
  for (size_t i = 0; i < len; i++) {
    v[i] = v[i] < bound ? (v[i] > -bound ? v[i] : -bound) : bound;
  }
}

/* Rows with covariates and response clamped, then their margins. */
static size_t shrunken_margin(const dph_rows *rows, size_t start, const double *norm,
                              const double *w, double bound, dph_gradient_work *work) {
  const size_t k = dph_rows_columns(rows), first = rows->intercept ? 1 : 0;
  const size_t len = dph_rows_fill(rows, start, work->z, work->y, work->valid);
  clamp(work->z + first * DPH_BLOCK, (k - first) * DPH_BLOCK, bound);
  clamp(work->y, DPH_BLOCK, bound);
  memset(work->eta, 0, DPH_BLOCK * sizeof(double));
  for (size_t i = 0; i < len; i++) {
    const size_t at = dph_rows_at(rows, start + i);
    work->valid[i] = (unsigned char)(work->valid[i] && norm[at] < INFINITY);
    work->eta[i] = rows->offset_in_margin && rows->offset ? rows->offset[at] : 0.0;
  }
  for (size_t j = 0; j < k; j++) {
    for (size_t i = 0; i < DPH_BLOCK; i++) {
      work->eta[i] += work->z[j * DPH_BLOCK + i] * w[j];
    }
  }
  return len;
}

/* Margins and derivatives of one block into work->eta and work->psi. */
static size_t block_psi(const dph_rows *rows, size_t start, const double *norm,
                        const double *w, const dph_gradient_rule *rule,
                        dph_gradient_work *work) {
  if (rule->estimator && rule->estimator->shrinks) {
    const size_t len = shrunken_margin(rows, start, norm, w, rule->bound, work);
    rule->loss->derivative(work->eta, work->y, DPH_BLOCK, rule->tuning, work->psi);
    return len;
  }
  const size_t len = dph_rows_fill_margin(rows, start, norm, w, work->z, work->y,
                                          work->eta, work->valid);
  if (rule->psi) {
    memset(work->psi, 0, DPH_BLOCK * sizeof(double));
    for (size_t i = 0; i < len; i++) {
      work->psi[i] = rule->psi[dph_rows_at(rows, start + i)];
    }
  } else {
    rule->loss->derivative(work->eta, work->y, DPH_BLOCK, rule->tuning, work->psi);
  }
  return len;
}

dph_status dph_gradient_sizes(const dph_rows *rows, const double *norm, const double *w,
                              const dph_loss *loss, dph_gradient_work *work,
                              const dph_poll *poll, double *size, dph_error *err) {
  if (loss->tuned) {
    return dph_fail(err, DPH_ERR_ARGUMENT, "sizes are those of a loss without tuning");
  }
  const dph_gradient_rule rule = {.loss = loss};
  for (size_t start = 0; start < rows->n; start += DPH_BLOCK) {
    DPH_TRY(poll_block(poll, start, err));
    const size_t len = block_psi(rows, start, norm, w, &rule, work);
    for (size_t i = 0; i < len; i++) {
      size[start + i] = fabs(work->psi[i]) * norm[start + i];
    }
    mark_invalid(work->valid, len, size + start);
  }
  return DPH_OK;
}

/* Weights of the block's records, in steps. */
static void record_weights(const dph_rows *rows, size_t start, size_t len, const double *norm,
                           const dph_gradient_rule *rule, dph_gradient_work *work) {
  const double bound = rule->bound * (1.0 - DPH_NORM_SLACK);
  const double inv_step = rule->step > 0.0 ? 1.0 / rule->step : 1.0;
  memset(work->work, 0, DPH_BLOCK * sizeof(double));
  for (size_t i = 0; i < len; i++) {
    work->work[i] = norm[dph_rows_at(rows, start + i)];
  }
  rule->estimator->multiplier(work->psi, work->work, bound, work->m);
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    work->m[i] = work->valid[i] ? work->m[i] * inv_step : 0.0;
  }
}

/* psi finite, so that psi z is never NaN; a NaN derivative and a row that adds zero: 0. */
static void bound_psi(const dph_gradient_rule *rule, dph_gradient_work *work) {
  const double most = rule->psi_bound < 1e300 ? rule->psi_bound : 1e300;
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    const double psi = work->psi[i] == work->psi[i] && work->valid[i] ? work->psi[i] : 0.0;
    work->psi[i] = psi < most ? (psi > -most ? psi : -most) : most;
  }
}

/* On the grid, without groups, clamping to +-limit steps is winsorising: nothing is left
 * to transform. */
static dph_element own_element(const dph_gradient_rule *rule) {
  const int by_limit = rule->estimator->element == dph_element_winsorize &&
                       rule->step > 0.0 && rule->groups == 0;
  return by_limit ? NULL : rule->estimator->element;
}

/* Weights in steps: of T(psi z), with the weight of the record's group, or of z. */
static void coordinate_weights(const dph_rows *rows, size_t start, size_t len,
                               const dph_gradient_rule *rule, dph_gradient_work *work) {
  const double inv_step = rule->step > 0.0 ? 1.0 / rule->step : 1.0;
  const int of_z = own_element(rule) == NULL;
  bound_psi(rule, work);
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
                       dph_gradient_work *work, int64_t *exact, double *plain) {
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
                       const dph_gradient_rule *rule, size_t j, dph_gradient_work *work,
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
  return rule->step > 0.0 ? dph_fixed_check(rows->n, rule->limit, err) : DPH_OK;
}

dph_status dph_gradient_sum(const dph_rows *rows, const double *norm, const double *w,
                            const dph_gradient_rule *rule, dph_gradient_work *work,
                            const dph_poll *poll, int64_t *exact, double *plain,
                            dph_error *err) {
  const size_t k = dph_rows_columns(rows), sums = k * dph_rule_sums(rule);
  const int grid = rule->step > 0.0;
  DPH_TRY(rule_check(rows, rule, err));
  if (grid) {
    memset(exact, 0, sums * sizeof *exact);
  } else {
    memset(plain, 0, sums * sizeof *plain);
  }
  for (size_t start = 0; start < rows->n; start += DPH_BLOCK) {
    DPH_TRY(poll_block(poll, start, err));
    const size_t len = block_psi(rows, start, norm, w, rule, work);
    if (rule->estimator->multiplier) {
      record_weights(rows, start, len, norm, rule, work);
    } else {
      coordinate_weights(rows, start, len, rule, work);
    }
    for (size_t j = 0; j < k; j++) {
      add_column(rows, start, len, rule, j, work, grid ? exact : NULL, grid ? NULL : plain);
    }
  }
  return DPH_OK;
}

dph_status dph_gradient_statistic(const dph_rows *rows, const double *norm, const double *w,
                                  const dph_gradient_rule *rule, const int64_t *root_int,
                                  dph_gradient_work *work, const dph_poll *poll,
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

dph_status dph_margins(const dph_rows *rows, const double *norm, const double *w,
                       dph_gradient_work *work, const dph_poll *poll, double *eta,
                       dph_error *err) {
  for (size_t start = 0; start < rows->n; start += DPH_BLOCK) {
    DPH_TRY(poll_block(poll, start, err));
    const size_t len = dph_rows_fill_margin(rows, start, norm, w, work->z, work->y,
                                            work->eta, work->valid);
    for (size_t i = 0; i < len; i++) {
      eta[dph_rows_at(rows, start + i)] = work->eta[i];
    }
  }
  return DPH_OK;
}

size_t dph_gradient_block(const dph_rows *rows, size_t start, const double *norm,
                          const double *w, const dph_gradient_rule *rule,
                          dph_gradient_work *work) {
  const size_t k = dph_rows_columns(rows), len = block_psi(rows, start, norm, w, rule, work);
  bound_psi(rule, work);
  for (size_t j = 0; j < k; j++) {
    double *z = work->z + j * DPH_BLOCK;
    dph_element_plain(z, work->psi, &rule->element);
    for (size_t i = 0; i < len; i++) {
      z[i] = work->valid[i] ? z[i] : NAN;
    }
  }
  return len;
}
