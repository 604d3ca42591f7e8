/* Getters, errors, guard; see r_glue.h. */
#include "r_glue.h"

#include <R_ext/Error.h>
#include <R_ext/Utils.h>
#include <limits.h>
#include <string.h>

void r_fail_argument(const char *text) {
  Rf_errorcall(R_NilValue, "internal call refused: %s", text);
}

void r_stop(const dph_error *err) {
  Rf_errorcall(R_NilValue, "%s", err->message);
}

static void r_fail_named(const char *arg, const char *what) {
  Rf_errorcall(R_NilValue, "internal call refused: `%s` must be %s", arg, what);
}

SEXP r_element(SEXP list, const char *name) {
  if (TYPEOF(list) != VECSXP) {
    r_fail_named(name, "an element of a list");
  }
  SEXP names = PROTECT(Rf_getAttrib(list, R_NamesSymbol));
  SEXP found = R_NilValue;
  for (R_xlen_t i = 0; i < Rf_xlength(names); i++) {
    if (strcmp(CHAR(STRING_ELT(names, i)), name) == 0) {
      found = VECTOR_ELT(list, i);
      break;
    }
  }
  UNPROTECT(1);
  return found;
}

double r_number(SEXP x, const char *arg) {
  if (TYPEOF(x) != REALSXP || XLENGTH(x) != 1 || ISNAN(REAL_RO(x)[0])) {
    r_fail_named(arg, "one number");
  }
  return REAL_RO(x)[0];
}

int r_integer(SEXP x, const char *arg) {
  const double v = r_number(x, arg);
  if (v != floor(v) || !(v >= -(double)INT_MAX && v <= (double)INT_MAX)) {
    r_fail_named(arg, "one whole number");
  }
  return (int)v;
}

const char *r_text(SEXP x, const char *arg) {
  if (TYPEOF(x) != STRSXP || XLENGTH(x) != 1) {
    r_fail_named(arg, "one string");
  }
  return CHAR(STRING_ELT(x, 0));
}

const double *r_doubles(SEXP x, size_t n, int optional, const char *arg) {
  if (optional && x == R_NilValue) {
    return NULL;
  }
  if (TYPEOF(x) != REALSXP || (size_t)XLENGTH(x) != n) {
    r_fail_named(arg, "doubles of the right length");
  }
  return REAL_RO(x);
}

dph_noise_law r_noise_law(SEXP noise) {
  const double *v = r_doubles(noise, 2, 0, "noise");
  dph_noise_law law = {DPH_NOISE_NONE, 0};
  if (v[0] == 1.0) {
    law.kind = DPH_NOISE_LAPLACE;
  } else if (v[0] == 2.0) {
    law.kind = DPH_NOISE_GAUSSIAN;
  } else if (v[0] != 0.0) {
    r_fail_named("noise", "of a known kind");
  }
  if (!(v[1] >= 0.0 && v[1] <= 45.0)) {
    r_fail_named("noise", "of a scale between 2^0 and 2^45");
  }
  law.bits = (int)v[1];
  return law;
}

dph_octaves r_octaves(SEXP cells) {
  const double *v = r_doubles(cells, 4, 0, "cells");
  dph_octaves out = {(int)v[0], (int)v[1], (int)v[2], (int)v[3]};
  dph_error err;
  if (dph_octaves_check(&out, &err) != DPH_OK) {
    r_stop(&err);
  }
  return out;
}

const int *r_indices(SEXP x, size_t n, size_t below, const char *arg) {
  if (TYPEOF(x) != INTSXP || (size_t)XLENGTH(x) != n) {
    r_fail_named(arg, "whole numbers in range");
  }
  const int *v = INTEGER_RO(x);
  for (size_t i = 0; i < n; i++) {
    if (v[i] < 0 || (size_t)v[i] >= below) {
      r_fail_named(arg, "whole numbers in range");
    }
  }
  return v;
}

/* NULL, or a list with order, start, most and scale (dph_units.h). */
static const dph_units *r_units(SEXP list, size_t stride) {
  if (list == R_NilValue) {
    return NULL;
  }
  dph_units *units = (dph_units *)(void *)R_alloc(1, sizeof(dph_units));
  SEXP order = r_element(list, "order"), start = r_element(list, "start");
  const size_t rows = (size_t)Rf_xlength(order), ends = (size_t)Rf_xlength(start);
  units->order = r_indices(order, rows, stride, "order");
  units->start = r_indices(start, ends, rows + 1, "start");
  if (ends < 2 || units->start[0] != 0 || (size_t)units->start[ends - 1] != rows) {
    r_fail_named("start", "one entry more than there are units, from 0 to the number of rows");
  }
  units->n = ends - 1;
  for (size_t u = 0; u < units->n; u++) {
    if (units->start[u] > units->start[u + 1]) {
      r_fail_named("start", "rising numbers");
    }
  }
  units->most = r_number(r_element(list, "most"), "most");
  units->scale = r_number(r_element(list, "scale"), "scale");
  if (!(units->most > 0.0) || !(units->scale > 0.0 && units->scale < INFINITY)) {
    r_fail_named("most", "a positive number, like scale");
  }
  return units;
}

void r_rows_rest(SEXP list, dph_rows *rows) {
  SEXP use = r_element(list, "use");
  rows->stride = rows->n;
  rows->y = r_doubles(r_element(list, "y"), rows->n, 1, "y");
  rows->offset = r_doubles(r_element(list, "offset"), rows->n, 1, "offset");
  rows->center = r_doubles(r_element(list, "center"), rows->p, 0, "center");
  rows->inv_scale = r_doubles(r_element(list, "inv_scale"), rows->p, 0, "inv_scale");
  rows->y_center = r_number(r_element(list, "y_center"), "y_center");
  rows->y_inv_scale = r_number(r_element(list, "y_inv_scale"), "y_inv_scale");
  rows->intercept = r_integer(r_element(list, "intercept"), "intercept");
  SEXP threads = r_element(list, "threads"); /* NULL where it is not named */
  rows->threads = threads == R_NilValue ? 1 : r_integer(threads, "threads");
  SEXP in_margin = r_element(list, "margin_offset"); /* the same */
  rows->offset_in_margin = in_margin != R_NilValue && r_integer(in_margin, "margin_offset");
  if (use != R_NilValue) {
    if (TYPEOF(use) != LGLSXP || (size_t)XLENGTH(use) != rows->n) {
      r_fail_named("use", "logical, one entry a row");
    }
    rows->use = LOGICAL_RO(use);
  }
  rows->units = r_units(r_element(list, "units"), rows->n);
  if (rows->n == 0 || rows->p + (size_t)(rows->intercept != 0) == 0) {
    r_fail_named("x", "a matrix with rows and columns");
  }
}

dph_rows r_rows(SEXP list) {
  dph_rows rows;
  SEXP x = r_element(list, "x");
  SEXP dim = PROTECT(Rf_getAttrib(x, R_DimSymbol));
  memset(&rows, 0, sizeof rows);
  if (TYPEOF(x) != REALSXP || TYPEOF(dim) != INTSXP || XLENGTH(dim) != 2) {
    r_fail_named("x", "a double matrix");
  }
  rows.n = (size_t)INTEGER_RO(dim)[0];
  rows.p = (size_t)INTEGER_RO(dim)[1];
  UNPROTECT(1);
  rows.x = REAL_RO(x);
  r_rows_rest(list, &rows);
  return rows;
}

dph_rows r_single_rows(SEXP list) {
  const dph_rows rows = r_rows(list);
  if (rows.units) {
    r_fail_argument("this is for single rows, not for units");
  }
  return rows;
}

SEXP r_int64(const int64_t *v, size_t m, double unit, int exact) {
  if (!exact) {
    SEXP out = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)m));
    double *value = REAL(out);
    for (size_t i = 0; i < m; i++) {
      value[i] = (double)v[i] * unit;
    }
    UNPROTECT(1);
    return out;
  }
  SEXP out = PROTECT(Rf_allocMatrix(REALSXP, (int)m, 2));
  double *value = REAL(out);
  for (size_t i = 0; i < m; i++) {
    const int64_t lo = v[i] & INT64_C(0xffffffff);
    value[i] = (double)((v[i] - lo) / INT64_C(4294967296));
    value[m + i] = (double)lo;
  }
  UNPROTECT(1);
  return out;
}

void r_guard_make(r_guard *guard) {
  guard->token = PROTECT(R_MakeUnwindCont());
}

static SEXP poll_body(void *data) {
  (void)data;
  R_CheckUserInterrupt();
  return R_NilValue;
}

static void poll_cleanup(void *data, Rboolean jump) {
  r_guard *guard = data;
  if (jump) {
    longjmp(guard->jump, 1);
  }
}

int r_guard_poll(void *data) {
  r_guard *guard = data;
  if (setjmp(guard->jump)) {
    return 1;
  }
  R_UnwindProtect(poll_body, NULL, poll_cleanup, guard, guard->token);
  return 0;
}

void r_guard_raise(r_guard *guard, dph_status status, const dph_error *err) {
  if (status == DPH_ERR_INTERRUPT) {
    R_ContinueUnwind(guard->token);
  }
  if (status != DPH_OK) {
    r_stop(err);
  }
}
