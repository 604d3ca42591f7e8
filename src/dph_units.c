/* Units as records; see dph_units.h. */
#include "dph_units.h"

#include <string.h>

/* Entries count as no larger: their squares under a root, whose entries are below 2^20, are finite,
 * so that a unit far outside is clipped and not lost. */
#define LARGEST 1e140

static double unit_weight(const dph_units *units, size_t u) {
  const double rows = (double)(units->start[u + 1] - units->start[u]);
  return units->scale * (rows > units->most ? units->most / rows : 1.0);
}

static double unit_norm(const dph_units *units, const double *norm, size_t u) {
  double squares = 0.0;
  for (int i = units->start[u]; i < units->start[u + 1]; i++) {
    const double v = norm[units->order[i]];
    squares += v < INFINITY ? v * v : 0.0;
  }
  return unit_weight(units, u) * sqrt(squares);
}

void dph_unit_norms(const dph_rows *rows, const double *norm, double *out) {
  for (size_t u = 0; u < rows->units->n; u++) {
    out[u] = unit_norm(rows->units, norm, u);
  }
}

static int weighs_covariates(const dph_gradient_rule *rule) {
  return rule->estimator && strcmp(rule->estimator->name, "covariate") == 0;
}

static int is_whole(const dph_gradient_rule *rule) {
  return !rule->estimator || rule->estimator->multiplier != NULL;
}

/* What the rows of each unit are multiplied with, apart from their derivatives. */
static void unit_shares(const dph_units *units, size_t start, size_t len, const double *norm,
                        const dph_gradient_rule *rule, double *share) {
  const int covariate = weighs_covariates(rule);
  for (size_t u = 0; u < len; u++) {
    share[u] = unit_weight(units, start + u);
    if (covariate) {
      const double size = unit_norm(units, norm, start + u);
      const double ratio = rule->bound / (size > 1e-100 ? size : 1e-100);
      share[u] *= ratio < 1.0 ? ratio : 1.0;
    }
  }
}

/* The rows' derivatives, made finite; those that are not valid 0. */
static void row_multipliers(const dph_gradient_rule *rule, dph_block *work) {
  const double most = weighs_covariates(rule) ? 1.0 : is_whole(rule) ? 1e300 : rule->psi_bound;
  const dph_gradient_rule clamp = {.psi_bound = most};
  dph_bound_psi(&clamp, work);
}

/* Adds the first len rows of the block to their units, at[i] being that of row i. */
static void add_rows(const dph_block *work, const size_t *at, const double *share, size_t len,
                     size_t k, double *sum) {
  for (size_t i = 0; i < len; i++) {
    work->m[i] = work->psi[i] * share[at[i]];
  }
  for (size_t j = 0; j < k; j++) {
    const double *z = work->z + j * DPH_BLOCK;
    double *out = sum + j * DPH_BLOCK;
    for (size_t i = 0; i < len; i++) {
      out[at[i]] += work->m[i] * z[i];
    }
  }
}

/* NaN nowhere and nothing whose square is not finite; a unit that holds a NaN is one of zeros. */
static void clean(double *z, size_t k, unsigned char *valid) {
  for (size_t j = 0; j < k; j++) {
    const double *v = z + j * DPH_BLOCK;
    for (size_t i = 0; i < DPH_BLOCK; i++) {
      valid[i] = (unsigned char)(valid[i] && v[i] == v[i]);
    }
  }
  for (size_t j = 0; j < k; j++) {
    double *v = z + j * DPH_BLOCK;
    for (size_t i = 0; i < DPH_BLOCK; i++) {
      const double capped = v[i] < LARGEST ? (v[i] > -LARGEST ? v[i] : -LARGEST) : LARGEST;
      v[i] = valid[i] ? capped : 0.0;
    }
  }
}

/* Lengths, and zeros where there is none. */
static void measure(dph_block *unit, size_t k, const double *root) {
  dph_block_norm(unit->z, k, root, unit->eta);
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    if (!(unit->eta[i] < INFINITY)) {
      unit->valid[i] = 0;
      unit->eta[i] = 0.0;
      for (size_t j = 0; j < k; j++) {
        unit->z[j * DPH_BLOCK + i] = 0.0;
      }
    }
  }
}

/* All rows of units first, ..., first + len - 1, in blocks of rows. */
static void sum_rows(const dph_rows *rows, size_t first, size_t len, const double *norm,
                     const double *w, const dph_gradient_rule *rule, const double *share,
                     dph_block *work, double *sum) {
  const dph_units *units = rows->units;
  const size_t k = dph_rows_columns(rows), to = (size_t)units->start[first + len];
  size_t at[DPH_BLOCK], unit = first;
  dph_rows view = *rows;
  view.units = NULL;
  view.index = units->order;
  view.n = (size_t)units->start[units->n];
  for (size_t from = (size_t)units->start[first]; from < to; from += DPH_BLOCK) {
    const size_t count = to - from < DPH_BLOCK ? to - from : DPH_BLOCK;
    (void)dph_block_psi(&view, from, norm, w, rule, work);
    row_multipliers(rule, work);
    for (size_t i = 0; i < count; i++) {
      while (from + i >= (size_t)units->start[unit + 1]) {
        unit++;
      }
      at[i] = unit - first;
    }
    add_rows(work, at, share, count, k, sum);
  }
}

size_t dph_unit_block(const dph_rows *rows, size_t start, const double *norm, const double *w,
                      const dph_gradient_rule *rule, dph_block *work) {
  const size_t left = rows->units->n - start, len = left < DPH_BLOCK ? left : DPH_BLOCK;
  const size_t k = dph_rows_columns(rows);
  dph_block *unit = work->unit;
  double share[DPH_BLOCK];
  memset(unit->z, 0, k * DPH_BLOCK * sizeof(double));
  unit_shares(rows->units, start, len, norm, rule, share);
  sum_rows(rows, start, len, norm, w, rule, share, work, unit->z);
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    unit->valid[i] = i < len;
  }
  clean(unit->z, k, unit->valid);
  if (is_whole(rule)) {
    measure(unit, k, rule->root);
  }
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    unit->psi[i] = unit->valid[i] ? 1.0 : 0.0;
  }
  return len;
}
