/* The driver of projected gradient descent; see solve_pgd.h. */
#include "solve_pgd.h"

#include <string.h>

typedef struct {
  size_t k;
  int64_t *sum, *statistic;
  double *u, *v;
  dph_gradient_work work;
} pgd_state;

static void state_free(pgd_state *state) {
  dph_free(state->sum);
  dph_free(state->statistic);
  dph_free(state->u);
  dph_free(state->v);
  dph_gradient_work_free(&state->work);
}

static dph_status state_make(const dph_rows *rows, pgd_state *state, dph_error *err) {
  const size_t k = dph_rows_columns(rows);
  void *p = NULL;
  memset(state, 0, sizeof *state);
  state->k = k;
  DPH_TRY(dph_gradient_work_make(rows, &state->work, err));
  DPH_TRY(dph_alloc(&p, k, sizeof(int64_t), err));
  state->sum = p;
  DPH_TRY(dph_alloc(&p, k, sizeof(int64_t), err));
  state->statistic = p;
  DPH_TRY(dph_alloc(&p, k, sizeof(double), err));
  state->u = p;
  DPH_TRY(dph_alloc(&p, k, sizeof(double), err));
  state->v = p;
  return DPH_OK;
}

/* v = L u, or u. */
static void lower_times(const double *root, size_t k, const double *u, double *v) {
  for (size_t a = 0; a < k; a++) {
    v[a] = root ? 0.0 : u[a];
    for (size_t b = 0; root && b <= a; b++) {
      v[a] += root[a + b * k] * u[b];
    }
  }
}

/* v = L' u, or u. */
static void upper_times(const double *root, size_t k, const double *u, double *v) {
  for (size_t b = 0; b < k; b++) {
    v[b] = root ? 0.0 : u[b];
    for (size_t a = b; root && a < k; a++) {
      v[b] += root[a + b * k] * u[a];
    }
  }
}

/* The released (or, without a grid, plain) mean gradient in L's units, into u. */
static dph_status release_gradient(const dph_rows *rows, const double *norm,
                                   const double *w, const dph_pgd *pgd, dph_rng *rng,
                                   const dph_poll *poll, pgd_state *state,
                                   dph_error *err) {
  const double n = (double)dph_rows_records(rows);
  if (!(pgd->rule.step > 0.0)) {
    DPH_TRY(dph_gradient_sum(rows, norm, w, &pgd->rule, &state->work, poll, NULL, state->v,
                             err));
    lower_times(pgd->root, state->k, state->v, state->u);
    for (size_t j = 0; j < state->k; j++) {
      state->u[j] /= n;
    }
    return DPH_OK;
  }
  DPH_TRY(dph_gradient_statistic(rows, norm, w, &pgd->rule, pgd->root_int, &state->work, poll,
                                 state->sum, state->statistic, err));
  DPH_TRY(dph_add_noise(rng, pgd->noise, state->statistic, state->k, err));
  for (size_t j = 0; j < state->k; j++) {
    state->u[j] = (double)state->statistic[j] * (pgd->rule.step / n);
  }
  return DPH_OK;
}

static dph_status iterate(const dph_rows *rows, const double *norm, double *w,
                          const dph_pgd *pgd, dph_rng *rng, const dph_poll *poll,
                          double *path, pgd_state *state, dph_error *err) {
  for (size_t t = 0; t < pgd->iterations; t++) {
    DPH_TRY(dph_check_poll(poll, err));
    DPH_TRY(release_gradient(rows, norm, w, pgd, rng, poll, state, err));
    upper_times(pgd->root, state->k, state->u, state->v);
    for (size_t j = 0; j < state->k; j++) {
      w[j] -= pgd->eta * state->v[j];
    }
    memcpy(path + t * state->k, w, state->k * sizeof *w);
  }
  return DPH_OK;
}

dph_status solve_pgd(const dph_rows *rows, const double *norm, double *w,
                     const dph_pgd *pgd, dph_rng *rng, const dph_poll *poll,
                     double *path, dph_error *err) {
  pgd_state state;
  dph_status status = state_make(rows, &state, err);
  if (status == DPH_OK) {
    status = iterate(rows, norm, w, pgd, rng, poll, path, &state, err);
  }
  state_free(&state);
  return status;
}
