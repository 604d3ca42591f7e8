/* Glue for the one-shot releases: counts, second moments, column sums.
 *
 * The last two arguments of each entry are `key` (NULL: a fresh one from the
 * operating system) and `exact`: TRUE returns the integer statistic that the
 * noise would be added to, in two columns hi and lo, and adds none. `unit` is the
 * integer weight of one record in a count. Every entry takes its pointers and
 * R-owned memory first, then calls the core, then raises or returns. */
#include "r_release.h"

#include <math.h>
#include <string.h>

#include "dph_cells.h"
#include "dph_moments.h"
#include "dph_sums.h"
#include "dph_units.h"
#include "r_glue.h"
#include "r_key.h"
#include "r_rule.h"

/* Integer sums on their way out. */
typedef struct {
  int64_t *v;
  size_t m;
  dph_noise_law law;
  int exact;
  dph_rng rng;
  r_guard guard;
  dph_poll poll;
} outlet;

SEXP r_float_check(void) {
  dph_error err;
  if (dph_float_check(&err) != DPH_OK) {
    r_stop(&err);
  }
  return R_NilValue;
}

/* Protects one object (the guard's); the caller unprotects it. */
static void outlet_make(outlet *o, size_t m, SEXP noise, SEXP key, SEXP exact) {
  dph_error err;
  r_guard_make(&o->guard);
  o->poll.poll = r_guard_poll;
  o->poll.user = &o->guard;
  o->m = m;
  o->law = r_noise_law(noise);
  o->exact = Rf_asLogical(exact) == TRUE;
  o->v = (int64_t *)(void *)R_alloc(m, sizeof(int64_t));
  if (dph_float_check(&err) != DPH_OK || r_key_rng(key, &o->rng, &err) != DPH_OK) {
    r_stop(&err);
  }
}

/* Plain sums are for the noiseless mode: no call that asks for noise gets one. */
static void refuse_noise(outlet *o) {
  if (o->law.kind != DPH_NOISE_NONE) {
    dph_rng_wipe(&o->rng);
    r_fail_argument("noise needs a grid");
  }
}

/* A poll may have jumped, an allocation failed: either way the generator goes. */
static SEXP outlet_close(outlet *o, dph_status status, double unit, const dph_error *err) {
  dph_rng_wipe(&o->rng);
  r_guard_raise(&o->guard, status, err);
  return r_int64(o->v, o->m, unit, o->exact);
}

static dph_status noisy_counts(outlet *o, size_t n, double unit, dph_error *err) {
  DPH_TRY(dph_fixed_check(n, unit, err));
  for (size_t i = 0; i < o->m; i++) {
    o->v[i] *= (int64_t)unit;
  }
  return o->exact ? DPH_OK : dph_add_noise(&o->rng, o->law, o->v, o->m, err);
}

/* Element `which` of the list of rows: columns from 0, p = the response. */
static dph_which r_which(SEXP rows_list, const dph_rows *rows) {
  SEXP which = r_element(rows_list, "which");
  const size_t size = (size_t)Rf_xlength(which);
  const double *v = r_doubles(which, size, 0, "which");
  size_t *index = (size_t *)(void *)R_alloc(size, sizeof(size_t));
  for (size_t j = 0; j < size; j++) {
    if (!(v[j] >= 0.0 && v[j] <= (double)rows->p) || (v[j] == (double)rows->p && !rows->y)) {
      r_fail_argument("`which` must hold columns");
    }
    index[j] = (size_t)v[j];
  }
  const dph_which out = {index, size};
  return out;
}

static dph_status count_pairs(const dph_rows *rows, dph_which which, const dph_octaves *cells,
                              uint32_t *perm, outlet *o, dph_error *err) {
  dph_rng_permute(&o->rng, perm, rows->n);
  return dph_count_pairs(rows, which, perm, cells, &o->poll, o->v, err);
}

/* what: "columns" or "pairs"; cells: c(lo, hi, sub, has_sign). Returns noisy
 * counts (in records), cells x columns, as one vector. */
SEXP r_count_octaves(SEXP rows_list, SEXP what, SEXP cells_vector, SEXP unit, SEXP noise,
                     SEXP key, SEXP exact) {
  const dph_rows rows = r_single_rows(rows_list);
  const dph_octaves cells = r_octaves(cells_vector);
  const dph_which which = r_which(rows_list, &rows);
  const int pairs = strcmp(r_text(what, "what"), "pairs") == 0;
  const double weight = r_number(unit, "unit");
  uint32_t *perm = NULL;
  dph_error err;
  outlet o;
  if (pairs) {
    perm = (uint32_t *)(void *)R_alloc(rows.n, sizeof(uint32_t));
  }
  outlet_make(&o, dph_octaves_count(&cells) * which.size, noise, key, exact);
  dph_status status = pairs ? count_pairs(&rows, which, &cells, perm, &o, &err)
                            : dph_count_columns(&rows, which, &cells, &o.poll, o.v, &err);
  if (status == DPH_OK) {
    status = noisy_counts(&o, rows.n, weight, &err);
  }
  SEXP out = outlet_close(&o, status, 1.0 / weight, &err);
  UNPROTECT(1);
  return out;
}

/* Counts in m equal cells a column, one more at either end. */
SEXP r_count_equal(SEXP rows_list, SEXP lower, SEXP width, SEXP m, SEXP unit, SEXP noise,
                   SEXP key, SEXP exact) {
  const dph_rows rows = r_single_rows(rows_list);
  const dph_which which = r_which(rows_list, &rows);
  const double *from = r_doubles(lower, which.size, 0, "lower");
  const double *step = r_doubles(width, which.size, 0, "width");
  const int cells = r_integer(m, "m");
  const double weight = r_number(unit, "unit");
  dph_error err;
  outlet o;
  if (cells < 1) {
    r_fail_argument("`m` must be positive");
  }
  outlet_make(&o, ((size_t)cells + 2) * which.size, noise, key, exact);
  dph_status status =
      dph_count_equal(&rows, which, from, step, (size_t)cells, &o.poll, o.v, &err);
  if (status == DPH_OK) {
    status = noisy_counts(&o, rows.n, weight, &err);
  }
  SEXP out = outlet_close(&o, status, 1.0 / weight, &err);
  UNPROTECT(1);
  return out;
}

/* Private: the norms of all rows, for the other entries only. */
SEXP r_row_norms(SEXP rows_list, SEXP root, SEXP with_response) {
  const dph_rows rows = r_rows(rows_list);
  const size_t k = dph_rows_columns(&rows);
  const double *l = r_doubles(root, k * k, 1, "root");
  const int with_y = Rf_asLogical(with_response) == TRUE && rows.y != NULL;
  r_guard guard;
  dph_poll poll = {r_guard_poll, NULL};
  dph_gradient_work work;
  dph_error err;
  SEXP out = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)rows.n));
  double *norm = REAL(out);
  r_guard_make(&guard);
  poll.user = &guard;
  dph_status status = dph_gradient_work_make(&rows, &work, &err);
  if (status == DPH_OK) {
    status = dph_row_norms(&rows, l, with_y, &work, &poll, norm, &err);
  }
  dph_gradient_work_free(&work);
  r_guard_raise(&guard, status, &err);
  UNPROTECT(2);
  return out;
}

/* The numbers that are counted, one per record: norms (w NULL) or the gradients' sizes at w. */
static dph_status record_sizes(const dph_rows *rows, const double *norms, const double *w,
                               const dph_loss *loss, const double *root, const dph_poll *poll,
                               double *size, dph_error *err) {
  dph_gradient_work work;
  if (!w) {
    dph_unit_norms(rows, norms, size);
    return DPH_OK;
  }
  DPH_TRY(dph_gradient_work_make(rows, &work, err));
  const dph_status status =
      dph_gradient_sizes(rows, norms, w, loss, root, &work, poll, size, err);
  dph_gradient_work_free(&work);
  return status;
}

/* Counts of the norms (w NULL) or of the gradients' sizes at w; those of units, where the rows
 * belong to some. */
SEXP r_count_sizes(SEXP rows_list, SEXP norm, SEXP w, SEXP loss, SEXP root, SEXP cells_vector,
                   SEXP unit, SEXP noise, SEXP key, SEXP exact) {
  const dph_rows rows = r_rows(rows_list);
  const dph_octaves cells = r_octaves(cells_vector);
  const size_t k = dph_rows_columns(&rows), records = dph_rows_records(&rows);
  const double *norms = r_doubles(norm, rows.n, 0, "norm");
  const double *point = r_doubles(w, k, 1, "w"), *under = r_doubles(root, k * k, 1, "root");
  const dph_loss *table = dph_loss_find(r_text(loss, "loss"));
  const double weight = r_number(unit, "unit");
  const double *values = norms;
  double *size = NULL;
  dph_status status = DPH_OK;
  dph_error err;
  outlet o;
  if (!table || (point && !rows.y)) {
    r_fail_argument("unknown loss, or no response");
  }
  if (point || rows.units) {
    size = (double *)(void *)R_alloc(records, sizeof(double));
    values = size;
  }
  outlet_make(&o, dph_octaves_count(&cells), noise, key, exact);
  if (size) {
    status = record_sizes(&rows, norms, point, table, under, &o.poll, size, &err);
  }
  if (status == DPH_OK) {
    status = dph_count_values(values, records, rows.threads, &cells, &o.poll, o.v, &err);
  }
  if (status == DPH_OK) {
    status = noisy_counts(&o, records, weight, &err);
  }
  SEXP out = outlet_close(&o, status, 1.0 / weight, &err);
  UNPROTECT(1);
  return out;
}

/* Private: the gradients of units at w before anything is bounded, a row per unit. */
SEXP r_unit_gradients(SEXP rows_list, SEXP norm, SEXP w, SEXP plan) {
  const dph_rows rows = r_rows(rows_list);
  const size_t k = dph_rows_columns(&rows);
  const double *norms = r_doubles(norm, rows.n, 0, "norm"), *point = r_doubles(w, k, 0, "w");
  const dph_gradient_rule rule = r_rule(plan, &rows);
  dph_gradient_work work;
  dph_error err;
  if (!rows.units) {
    r_fail_argument("no units");
  }
  SEXP out = PROTECT(Rf_allocMatrix(REALSXP, (int)rows.units->n, (int)k));
  double *value = REAL(out);
  if (dph_gradient_work_make(&rows, &work, &err) != DPH_OK) {
    r_stop(&err);
  }
  for (size_t u = 0; u < rows.units->n; u += DPH_BLOCK) {
    const size_t len = dph_unit_block(&rows, u, norms, point, &rule, &work.lane[0]);
    for (size_t j = 0; j < k; j++) {
      memcpy(value + j * rows.units->n + u, work.lane[0].unit->z + j * DPH_BLOCK,
             len * sizeof(double));
    }
  }
  dph_gradient_work_free(&work);
  UNPROTECT(1);
  return out;
}

/* The packed second moments in units of step^2 (off-diagonal: step^2 / 11, once
 * noise is asked for); step = 0: plain sums. */
static SEXP moments_release(const dph_rows *rows, const double *norms,
                            const dph_moments_rule *rule, SEXP noise, SEXP key, SEXP exact) {
  const size_t m = dph_rows_columns(rows) + (rows->y ? 1 : 0);
  const size_t packed = m * (m + 1) / 2;
  dph_error err;
  outlet o;
  const int plain = !(rule->step > 0.0);
  SEXP sums = PROTECT(Rf_allocVector(REALSXP, plain ? (R_xlen_t)packed : 0));
  outlet_make(&o, packed, noise, key, exact);
  if (plain) {
    refuse_noise(&o);
    dph_status status = dph_moments_sum(rows, norms, rule, &o.poll, NULL, REAL(sums), &err);
    dph_rng_wipe(&o.rng);
    r_guard_raise(&o.guard, status, &err);
    UNPROTECT(2);
    return sums;
  }
  dph_status status = dph_moments_sum(rows, norms, rule, &o.poll, o.v, NULL, &err);
  if (status == DPH_OK && !o.exact) {
    status = dph_moments_noise(&o.rng, o.law, m, o.v, &err);
  }
  SEXP out = outlet_close(&o, status, 1.0, &err);
  UNPROTECT(2);
  return out;
}

SEXP r_moments(SEXP rows_list, SEXP norm, SEXP bound, SEXP step, SEXP noise, SEXP key,
               SEXP exact) {
  const dph_rows rows = r_single_rows(rows_list);
  const double *norms = r_doubles(norm, rows.n, 0, "norm");
  const dph_moments_rule rule = {.bound = r_number(bound, "bound"),
                                 .step = r_number(step, "step")};
  return moments_release(&rows, norms, &rule, noise, key, exact);
}

/* The same of weighted rows under a root, without the response. */
SEXP r_weighted_moments(SEXP rows_list, SEXP weight, SEXP root, SEXP bound, SEXP step,
                        SEXP noise, SEXP key, SEXP exact) {
  dph_rows rows = r_single_rows(rows_list);
  const size_t k = dph_rows_columns(&rows);
  rows.y = NULL;
  const dph_moments_rule rule = {.bound = r_number(bound, "bound"),
                                 .step = r_number(step, "step"),
                                 .weight = r_doubles(weight, rows.n, 0, "weight"),
                                 .root = r_doubles(root, k * k, 0, "root")};
  return moments_release(&rows, NULL, &rule, noise, key, exact);
}

/* Winsorised sums in steps; limit = Inf: plain sums. */
SEXP r_column_sums(SEXP rows_list, SEXP limit, SEXP noise, SEXP key, SEXP exact) {
  const dph_rows rows = r_single_rows(rows_list);
  const double most = r_number(limit, "limit");
  const int plain = isinf(most);
  dph_error err;
  outlet o;
  SEXP sums = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)rows.p));
  outlet_make(&o, rows.p, noise, key, exact);
  if (plain) {
    refuse_noise(&o);
  }
  dph_status status = dph_column_sums(&rows, plain ? 1.0 : most, &o.poll, o.v,
                                      plain ? REAL(sums) : NULL, &err);
  if (status == DPH_OK && !plain && !o.exact) {
    status = dph_add_noise(&o.rng, o.law, o.v, rows.p, &err);
  }
  SEXP out = outlet_close(&o, status, 1.0, &err);
  UNPROTECT(2);
  return plain ? sums : out;
}

/* Noisy counts, in records, of the values that are there. */
SEXP r_column_complete(SEXP rows_list, SEXP unit, SEXP noise, SEXP key, SEXP exact) {
  const dph_rows rows = r_single_rows(rows_list);
  const double weight = r_number(unit, "unit");
  dph_error err;
  outlet o;
  outlet_make(&o, rows.p, noise, key, exact);
  dph_status status = dph_column_complete(&rows, &o.poll, o.v, &err);
  if (status == DPH_OK) {
    status = noisy_counts(&o, rows.n, weight, &err);
  }
  SEXP out = outlet_close(&o, status, 1.0 / weight, &err);
  UNPROTECT(1);
  return out;
}
