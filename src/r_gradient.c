/* Glue for single gradient releases (dph_gradient.h), for drivers written in R. */
#include <string.h>

#include "dph_cells.h"
#include "dph_groups.h"
#include "r_glue.h"
#include "r_key.h"
#include "r_release.h"
#include "r_rule.h"

typedef struct {
  dph_rows rows;
  const double *norm, *w;
  dph_gradient_rule rule;
  const int64_t *root_int;
  dph_noise_law noise;
  int64_t *sum, *statistic;
  double *plain;
} gradient_call;

static gradient_call r_gradient_call(SEXP rows_list, SEXP norm, SEXP w, SEXP plan) {
  gradient_call call;
  memset(&call, 0, sizeof call);
  call.rows = r_rows(rows_list);
  const size_t k = dph_rows_columns(&call.rows);
  call.norm = r_doubles(norm, call.rows.n, 0, "norm");
  call.w = r_doubles(w, k, 0, "w");
  call.rule = r_rule(plan, &call.rows);
  call.rule.root = r_root(plan, k, &call.root_int);
  r_view(plan, &call.rows);
  call.noise = r_noise_law(r_element(plan, "noise"));
  if (call.noise.kind != DPH_NOISE_NONE && !(call.rule.step > 0.0)) {
    r_fail_argument("noise needs a grid");
  }
  const size_t sums = k * dph_rule_sums(&call.rule);
  call.sum = (int64_t *)(void *)R_alloc(sums, sizeof(int64_t));
  call.statistic = (int64_t *)(void *)R_alloc(k, sizeof(int64_t));
  call.plain = (double *)(void *)R_alloc(sums, sizeof(double));
  return call;
}

static dph_status plain_gradient(gradient_call *call, dph_gradient_work *work,
                                 const dph_poll *poll, double *out, dph_error *err) {
  const size_t k = dph_rows_columns(&call->rows);
  DPH_TRY(dph_gradient_sum(&call->rows, call->norm, call->w, &call->rule, work, poll, NULL,
                           call->plain, err));
  if (call->rule.groups > 0) {
    dph_group_median_plain(call->plain, call->rule.groups, k, out);
  } else {
    memcpy(out, call->plain, k * sizeof *out);
  }
  return DPH_OK;
}

/* The released integers, or with step = 0 the plain sums before any root (k doubles either
 * way); exact = TRUE: the integers without noise, as columns hi and lo. */
SEXP r_gradient(SEXP rows_list, SEXP norm, SEXP w, SEXP plan, SEXP key, SEXP exact) {
  gradient_call call = r_gradient_call(rows_list, norm, w, plan);
  const size_t k = dph_rows_columns(&call.rows);
  const int grid = call.rule.step > 0.0, no_noise = Rf_asLogical(exact) == TRUE;
  r_guard guard;
  dph_poll poll = {r_guard_poll, NULL};
  dph_gradient_work work;
  dph_error err;
  dph_rng rng;
  SEXP out = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)k));
  double *plain = REAL(out);
  r_guard_make(&guard);
  poll.user = &guard;
  dph_status status = dph_float_check(&err);
  if (status == DPH_OK) {
    status = dph_gradient_work_make(&call.rows, &work, &err);
  }
  if (status == DPH_OK) {
    status = grid ? dph_gradient_statistic(&call.rows, call.norm, call.w, &call.rule,
                                           call.root_int, &work, &poll, call.sum,
                                           call.statistic, &err)
                  : plain_gradient(&call, &work, &poll, plain, &err);
    dph_gradient_work_free(&work);
  }
  if (status == DPH_OK && grid && !no_noise) {
    status = r_key_rng(key, &rng, &err);
    if (status == DPH_OK) {
      status = dph_add_noise(&rng, call.noise, call.statistic, k, &err);
    }
    dph_rng_wipe(&rng);
  }
  r_guard_raise(&guard, status, &err);
  if (grid) {
    out = r_int64(call.statistic, k, 1.0, no_noise);
  }
  UNPROTECT(2);
  return out;
}

/* Private: eta of every row, for a loss that is written in R. */
SEXP r_margins(SEXP rows_list, SEXP norm, SEXP w) {
  const dph_rows rows = r_rows(rows_list);
  const size_t k = dph_rows_columns(&rows);
  const double *norms = r_doubles(norm, rows.n, 0, "norm");
  const double *point = r_doubles(w, k, 0, "w");
  r_guard guard;
  dph_poll poll = {r_guard_poll, NULL};
  dph_gradient_work work;
  dph_error err;
  SEXP out = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)rows.n));
  double *eta = REAL(out);
  r_guard_make(&guard);
  poll.user = &guard;
  dph_status status = dph_gradient_work_make(&rows, &work, &err);
  if (status == DPH_OK) {
    status = dph_margins(&rows, norms, point, &work, &poll, eta, &err);
    dph_gradient_work_free(&work);
  }
  r_guard_raise(&guard, status, &err);
  UNPROTECT(2);
  return out;
}

/* Noisy counts, in records, of the sizes of gradient coordinates, all k of a record in one set
 * of cells: a record moves at most k counts out of a cell and k into another, sqrt(2) k in l2. */
SEXP r_count_coordinates(SEXP rows_list, SEXP norm, SEXP w, SEXP plan, SEXP cells_vector,
                         SEXP unit, SEXP key, SEXP exact) {
  gradient_call call = r_gradient_call(rows_list, norm, w, plan);
  const dph_octaves cells = r_octaves(cells_vector);
  const size_t k = dph_rows_columns(&call.rows), m = dph_octaves_count(&cells);
  const double weight = r_number(unit, "unit");
  const int no_noise = Rf_asLogical(exact) == TRUE;
  int64_t *counts = (int64_t *)(void *)R_alloc(m, sizeof(int64_t));
  r_guard guard;
  dph_poll poll = {r_guard_poll, NULL};
  dph_gradient_work work;
  dph_error err;
  dph_rng rng;
  r_guard_make(&guard);
  poll.user = &guard;
  dph_status status = dph_fixed_check(dph_rows_records(&call.rows), weight * (double)k, &err);
  if (status == DPH_OK) {
    status = dph_gradient_work_make(&call.rows, &work, &err);
  }
  if (status == DPH_OK) {
    status = dph_count_coordinates(&call.rows, call.norm, call.w, &call.rule, &cells, &work,
                                   &poll, counts, &err);
    dph_gradient_work_free(&work);
  }
  for (size_t c = 0; status == DPH_OK && c < m; c++) {
    counts[c] *= (int64_t)weight;
  }
  if (status == DPH_OK && !no_noise) {
    status = r_key_rng(key, &rng, &err);
    if (status == DPH_OK) {
      status = dph_add_noise(&rng, call.noise, counts, m, &err);
    }
    dph_rng_wipe(&rng);
  }
  r_guard_raise(&guard, status, &err);
  SEXP out = r_int64(counts, m, 1.0 / weight, no_noise);
  UNPROTECT(1);
  return out;
}

/* A random order of 0, ..., n - 1. */
SEXP r_permutation(SEXP n, SEXP key) {
  const int size = r_integer(n, "n");
  dph_error err;
  dph_rng rng;
  if (size < 1) {
    r_fail_argument("`n` must be positive");
  }
  uint32_t *order = (uint32_t *)(void *)R_alloc((size_t)size, sizeof(uint32_t));
  SEXP out = PROTECT(Rf_allocVector(INTSXP, size));
  int *index = INTEGER(out);
  if (r_key_rng(key, &rng, &err) != DPH_OK) {
    r_stop(&err);
  }
  dph_rng_permute(&rng, order, (size_t)size);
  dph_rng_wipe(&rng);
  for (int i = 0; i < size; i++) {
    index[i] = (int)order[i];
  }
  UNPROTECT(1);
  return out;
}

/* Values (what = "value") or derivatives of a loss at eta and y. Reads no source. */
SEXP r_loss(SEXP name, SEXP what, SEXP eta, SEXP y, SEXP tuning) {
  const dph_loss *loss = dph_loss_find(r_text(name, "name"));
  const size_t n = (size_t)Rf_xlength(eta);
  const double *at = r_doubles(eta, n, 0, "eta"), *response = r_doubles(y, n, 0, "y");
  const double *constant = r_doubles(tuning, 1, 1, "tuning");
  const int value = strcmp(r_text(what, "what"), "value") == 0;
  if (!loss || (loss->tuned && !constant) || (value && !loss->value)) {
    r_fail_argument("unknown loss, or one without tuning or value");
  }
  SEXP out = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)n));
  (value ? loss->value : loss->derivative)(at, response, n, constant, REAL(out));
  UNPROTECT(1);
  return out;
}
