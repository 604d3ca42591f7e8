/* The fused gradient walk; see dph_gradient.h. */
#include "dph_gradient.h"

#include <string.h>

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
    {"clipped", clipped_multiplier},
    {"covariate", covariate_multiplier},
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

/* Margins and derivatives of one block into work->eta and work->psi. */
static size_t block_psi(const dph_rows *rows, size_t start, const double *norm,
                        const double *w, const dph_loss *loss, const double *tuning,
                        dph_gradient_work *work) {
  const size_t len = dph_rows_fill_margin(rows, start, norm, w, work->z, work->y,
                                          work->eta, work->valid);
  loss->derivative(work->eta, work->y, DPH_BLOCK, tuning, work->psi);
  return len;
}

dph_status dph_gradient_sizes(const dph_rows *rows, const double *norm, const double *w,
                              const dph_loss *loss, dph_gradient_work *work,
                              const dph_poll *poll, double *size, dph_error *err) {
  if (loss->tuned) {
    return dph_fail(err, DPH_ERR_ARGUMENT, "sizes are those of a loss without tuning");
  }
  for (size_t start = 0; start < rows->n; start += DPH_BLOCK) {
    DPH_TRY(poll_block(poll, start, err));
    const size_t len = block_psi(rows, start, norm, w, loss, NULL, work);
    for (size_t i = 0; i < len; i++) {
      size[start + i] = fabs(work->psi[i]) * norm[start + i];
    }
    mark_invalid(work->valid, len, size + start);
  }
  return DPH_OK;
}

dph_status dph_gradient_sum(const dph_rows *rows, const double *norm, const double *w,
                            const dph_gradient_rule *rule, dph_gradient_work *work,
                            const dph_poll *poll, int64_t *exact, double *plain,
                            dph_error *err) {
  const size_t k = dph_rows_columns(rows);
  const double bound = rule->bound * (1.0 - DPH_NORM_SLACK);
  const double inv_step = rule->step > 0.0 ? 1.0 / rule->step : 1.0;
  double block_norm[DPH_BLOCK];
  if (rule->step > 0.0) {
    DPH_TRY(dph_fixed_check(rows->n, rule->limit, err));
    memset(exact, 0, k * sizeof *exact);
  } else {
    memset(plain, 0, k * sizeof *plain);
  }
  for (size_t start = 0; start < rows->n; start += DPH_BLOCK) {
    DPH_TRY(poll_block(poll, start, err));
    const size_t len = block_psi(rows, start, norm, w, rule->loss, rule->tuning, work);
    memset(block_norm, 0, sizeof block_norm);
    memcpy(block_norm, norm + start, len * sizeof(double));
    rule->estimator->multiplier(work->psi, block_norm, bound, work->m);
    for (size_t i = 0; i < DPH_BLOCK; i++) {
      work->m[i] = work->valid[i] ? work->m[i] * inv_step : 0.0;
    }
    for (size_t j = 0; j < k; j++) {
      if (rule->step > 0.0) {
        exact[j] += (int64_t)dph_block_fixed_sum(work->z + j * DPH_BLOCK, work->m, rule->limit);
      } else {
        plain[j] += dph_block_plain_sum(work->z + j * DPH_BLOCK, work->m);
      }
    }
  }
  return DPH_OK;
}
