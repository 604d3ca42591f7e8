/* Glue for gradients from compressed columns (dph_sparse.h): the counterparts of
 * r_row_norms(), r_margins(), r_gradient() and r_count_coordinates(), with their
 * arguments. x in the list of rows is a list with x (doubles), i, p and dim
 * (integers). */
#include <string.h>

#include "dph_sparse.h"
#include "r_glue.h"
#include "r_key.h"
#include "r_release.h"
#include "r_rule.h"

static const int *integers(SEXP v, size_t n) {
  if (TYPEOF(v) != INTSXP || (size_t)XLENGTH(v) != n) {
    r_fail_argument("a sparse matrix must hold integers of the right length");
  }
  return INTEGER_RO(v);
}

/* Entries and places of a matrix, and its size. */
static void r_columns(SEXP x, dph_sparse *s) {
  const int *dim = integers(r_element(x, "dim"), 2);
  if (dim[0] < 1 || dim[1] < 1) {
    r_fail_argument("a sparse matrix must have rows and columns");
  }
  SEXP values = r_element(x, "x");
  s->rows.n = s->rows.stride = (size_t)dim[0];
  s->rows.p = (size_t)dim[1];
  s->entries = (size_t)Rf_xlength(values);
  s->x = r_doubles(values, s->entries, 0, "x");
  s->i = integers(r_element(x, "i"), s->entries);
  s->p = integers(r_element(x, "p"), s->rows.p + 1);
}

static dph_sparse r_sparse(SEXP rows_list) {
  dph_sparse s;
  memset(&s, 0, sizeof s);
  r_columns(r_element(rows_list, "x"), &s);
  r_rows_rest(rows_list, &s.rows);
  if (s.rows.units) {
    r_fail_argument("compressed columns know no units");
  }
  for (size_t j = 0; j < s.rows.p; j++) {
    if (s.rows.center[j] != 0.0) {
      r_fail_argument("the centres of a sparse matrix are 0");
    }
  }
  return s;
}

/* TRUE if rows and columns are as they should be. */
SEXP r_sparse_sound(SEXP x) {
  dph_sparse s;
  memset(&s, 0, sizeof s);
  r_columns(x, &s);
  return Rf_ScalarLogical(dph_sparse_check(&s, NULL) == DPH_OK);
}

/* Private. */
SEXP r_sparse_norms(SEXP rows_list) {
  const dph_sparse s = r_sparse(rows_list);
  r_guard guard;
  dph_poll poll = {r_guard_poll, NULL};
  dph_error err;
  SEXP out = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)s.rows.stride));
  double *norm = REAL(out);
  r_guard_make(&guard);
  poll.user = &guard;
  r_guard_raise(&guard, dph_sparse_norms(&s, &poll, norm, &err), &err);
  UNPROTECT(2);
  return out;
}

/* Private. */
SEXP r_sparse_margins(SEXP rows_list, SEXP norm, SEXP w) {
  const dph_sparse s = r_sparse(rows_list);
  const double *norms = r_doubles(norm, s.rows.stride, 0, "norm");
  const double *point = r_doubles(w, dph_rows_columns(&s.rows), 0, "w");
  r_guard guard;
  dph_poll poll = {r_guard_poll, NULL};
  dph_error err;
  SEXP out = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)s.rows.stride));
  double *eta = REAL(out);
  r_guard_make(&guard);
  poll.user = &guard;
  r_guard_raise(&guard, dph_sparse_margins(&s, norms, point, &poll, eta, &err), &err);
  UNPROTECT(2);
  return out;
}

/* Integers of a release on their way out. */
typedef struct {
  dph_sparse s;
  const double *norm, *w;
  dph_gradient_rule rule;
  dph_noise_law noise;
  int exact;
  int64_t *v;
} sparse_call;

static sparse_call r_sparse_call(SEXP rows_list, SEXP norm, SEXP w, SEXP plan,
                                 SEXP exact) {
  sparse_call call;
  memset(&call, 0, sizeof call);
  call.s = r_sparse(rows_list);
  call.norm = r_doubles(norm, call.s.rows.stride, 0, "norm");
  call.w = r_doubles(w, dph_rows_columns(&call.s.rows), 0, "w");
  call.rule = r_rule(plan, &call.s.rows);
  r_view(plan, &call.s.rows);
  call.noise = r_noise_law(r_element(plan, "noise"));
  call.exact = Rf_asLogical(exact) == TRUE;
  return call;
}

static dph_status add_noise(const sparse_call *call, size_t m, SEXP key, dph_error *err) {
  dph_rng rng;
  if (call->exact) {
    return DPH_OK;
  }
  dph_status status = r_key_rng(key, &rng, err);
  if (status == DPH_OK) {
    status = dph_add_noise(&rng, call->noise, call->v, m, err);
  }
  dph_rng_wipe(&rng);
  return status;
}

SEXP r_sparse_gradient(SEXP rows_list, SEXP norm, SEXP w, SEXP plan, SEXP key,
                       SEXP exact) {
  sparse_call call = r_sparse_call(rows_list, norm, w, plan, exact);
  const size_t k = dph_rows_columns(&call.s.rows);
  const int grid = call.rule.step > 0.0;
  r_guard guard;
  dph_poll poll = {r_guard_poll, NULL};
  dph_error err;
  if (!grid && call.noise.kind != DPH_NOISE_NONE) {
    r_fail_argument("noise needs a grid");
  }
  SEXP out = PROTECT(Rf_allocVector(REALSXP, grid ? 0 : (R_xlen_t)k));
  double *plain = REAL(out);
  call.v = grid ? (int64_t *)(void *)R_alloc(k, sizeof(int64_t)) : NULL;
  r_guard_make(&guard);
  poll.user = &guard;
  dph_status status = dph_float_check(&err);
  if (status == DPH_OK) {
    status = dph_sparse_sum(&call.s, call.norm, call.w, &call.rule, &poll, call.v, plain,
                            &err);
  }
  if (status == DPH_OK && grid) {
    status = add_noise(&call, k, key, &err);
  }
  r_guard_raise(&guard, status, &err);
  if (grid) {
    out = r_int64(call.v, k, 1.0, call.exact);
  }
  UNPROTECT(2);
  return out;
}

SEXP r_sparse_coordinates(SEXP rows_list, SEXP norm, SEXP w, SEXP plan, SEXP cells_vector,
                          SEXP unit, SEXP key, SEXP exact) {
  sparse_call call = r_sparse_call(rows_list, norm, w, plan, exact);
  const dph_octaves cells = r_octaves(cells_vector);
  const size_t k = dph_rows_columns(&call.s.rows), m = dph_octaves_count(&cells);
  const double weight = r_number(unit, "unit");
  r_guard guard;
  dph_poll poll = {r_guard_poll, NULL};
  dph_error err;
  call.v = (int64_t *)(void *)R_alloc(m, sizeof(int64_t));
  r_guard_make(&guard);
  poll.user = &guard;
  dph_status status = dph_fixed_check(call.s.rows.n, weight * (double)k, &err);
  if (status == DPH_OK) {
    status = dph_sparse_count(&call.s, call.norm, call.w, &call.rule, &cells, &poll,
                              call.v, &err);
  }
  for (size_t c = 0; status == DPH_OK && c < m; c++) {
    call.v[c] *= (int64_t)weight;
  }
  if (status == DPH_OK) {
    status = add_noise(&call, m, key, &err);
  }
  r_guard_raise(&guard, status, &err);
  SEXP out = r_int64(call.v, m, 1.0 / weight, call.exact);
  UNPROTECT(1);
  return out;
}
