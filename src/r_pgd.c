/* Glue for projected gradient descent (solve_pgd.h). */
#include <string.h>

#include "r_glue.h"
#include "r_key.h"
#include "r_release.h"
#include "r_rule.h"
#include "solve_pgd.h"

/* plan: what r_rule() reads, iterations and eta. */
static dph_pgd r_plan(SEXP plan, const dph_rows *rows) {
  const size_t k = dph_rows_columns(rows);
  dph_pgd pgd;
  memset(&pgd, 0, sizeof pgd);
  const int iterations = r_integer(r_element(plan, "iterations"), "iterations");
  if (iterations < 1) {
    r_fail_argument("`iterations` must be positive");
  }
  pgd.iterations = (size_t)iterations;
  pgd.eta = r_number(r_element(plan, "eta"), "eta");
  pgd.rule = r_rule(plan, rows);
  pgd.root = r_root(plan, k, &pgd.root_int);
  pgd.rule.root = pgd.root;
  pgd.noise = r_noise_law(r_element(plan, "noise"));
  if (!pgd.rule.estimator->multiplier) {
    r_fail_argument("this solver takes gradients of whole records");
  }
  if (pgd.noise.kind != DPH_NOISE_NONE && !(pgd.rule.step > 0.0)) {
    r_fail_argument("noise needs a grid");
  }
  return pgd;
}

/* The exact integers that the first step would add its noise to. */
static SEXP exact_statistic(const dph_rows *rows, const double *norm, const double *w,
                            const dph_pgd *pgd) {
  const size_t k = dph_rows_columns(rows);
  int64_t *sum = (int64_t *)(void *)R_alloc(2 * k, sizeof(int64_t));
  dph_gradient_work work;
  dph_error err;
  dph_status status = dph_gradient_work_make(rows, &work, &err);
  if (status == DPH_OK) {
    status = dph_gradient_statistic(rows, norm, w, &pgd->rule, pgd->root_int, &work, NULL, sum,
                                    sum + k, &err);
  }
  dph_gradient_work_free(&work);
  if (status != DPH_OK) {
    r_stop(&err);
  }
  return r_int64(sum + k, k, 1.0, 1);
}

/* Returns the path, k x iterations. */
SEXP r_pgd(SEXP rows_list, SEXP norm, SEXP w, SEXP plan, SEXP key, SEXP exact) {
  const dph_rows rows = r_rows(rows_list);
  const size_t k = dph_rows_columns(&rows);
  const double *norms = r_doubles(norm, rows.n, 0, "norm");
  const double *start = r_doubles(w, k, 0, "w");
  const dph_pgd pgd = r_plan(plan, &rows);
  r_guard guard;
  dph_poll poll = {r_guard_poll, NULL};
  dph_error err;
  dph_rng rng;
  if (!rows.y) {
    r_fail_argument("no response");
  }
  if (Rf_asLogical(exact) == TRUE) {
    return exact_statistic(&rows, norms, start, &pgd);
  }
  double *point = (double *)(void *)R_alloc(k, sizeof(double));
  memcpy(point, start, k * sizeof(double));
  SEXP out = PROTECT(Rf_allocMatrix(REALSXP, (int)k, (int)pgd.iterations));
  r_guard_make(&guard);
  poll.user = &guard;
  dph_status status = dph_float_check(&err);
  if (status == DPH_OK) {
    status = r_key_rng(key, &rng, &err);
  }
  if (status == DPH_OK) {
    status = solve_pgd(&rows, norms, point, &pgd, &rng, &poll, REAL(out), &err);
    dph_rng_wipe(&rng);
  }
  r_guard_raise(&guard, status, &err);
  UNPROTECT(2);
  return out;
}
