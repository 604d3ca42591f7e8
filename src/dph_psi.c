/* Derivatives of a block; see dph_psi.h. */
#include "dph_psi.h"

#include <string.h>

static void clamp(double *v, size_t len, double bound) {
  for (size_t i = 0; i < len; i++) {
    v[i] = v[i] < bound ? (v[i] > -bound ? v[i] : -bound) : bound;
  }
}

/* A column clamped, and its part of the margins. */
DPH_KERNEL static void shrink_column(double *restrict z, double bound, double w,
                                     double *restrict eta) {
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    double v = z[i] > -bound ? z[i] : -bound;
    v = v < bound ? v : bound;
    z[i] = v;
    eta[i] += v * w;
  }
}

/* Rows with covariates and response clamped, then their margins. */
static size_t shrunken_margin(const dph_rows *rows, size_t start, const double *norm,
                              const double *w, double bound, dph_block *work) {
  const size_t k = dph_rows_columns(rows), first = rows->intercept ? 1 : 0;
  const size_t len = dph_rows_fill(rows, start, work->z, work->y, work->valid);
  clamp(work->y, DPH_BLOCK, bound);
  memset(work->eta, 0, DPH_BLOCK * sizeof(double));
  for (size_t i = 0; i < len; i++) {
    const size_t at = dph_rows_at(rows, start + i);
    work->valid[i] = (unsigned char)(work->valid[i] && norm[at] < INFINITY);
    work->eta[i] = rows->offset_in_margin && rows->offset ? rows->offset[at] : 0.0;
  }
  for (size_t j = 0; j < k; j++) {
    const double most = j < first ? 1.0 : bound;
    shrink_column(work->z + j * DPH_BLOCK, most, w[j], work->eta);
  }
  return len;
}

size_t dph_block_psi(const dph_rows *rows, size_t start, const double *norm, const double *w,
                     const dph_gradient_rule *rule, dph_block *work) {
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

void dph_bound_psi(const dph_gradient_rule *rule, dph_block *work) {
  const double most = rule->psi_bound < 1e300 ? rule->psi_bound : 1e300;
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    const double psi = work->psi[i] == work->psi[i] && work->valid[i] ? work->psi[i] : 0.0;
    work->psi[i] = psi < most ? (psi > -most ? psi : -most) : most;
  }
}
