/* The boundary to R: getters that check, errors that are raised after the core
 * has let go of everything, and the guard for calls that may jump. */
#ifndef R_GLUE_H_INCLUDED
#define R_GLUE_H_INCLUDED

#define R_NO_REMAP
#include <Rinternals.h>
#include <setjmp.h>

#include "dph_base.h"
#include "dph_cells.h"
#include "dph_fixed.h"
#include "dph_rows.h"

/* Raise; they never return. */
void r_fail_argument(const char *text);
void r_stop(const dph_error *err);

/* Entry `name` of a list, R_NilValue if it is not there. */
SEXP r_element(SEXP list, const char *name);

double r_number(SEXP x, const char *arg);
int r_integer(SEXP x, const char *arg);
const char *r_text(SEXP x, const char *arg);

/* Doubles of length n, or an error; NULL for R's NULL if `optional`. */
const double *r_doubles(SEXP x, size_t n, int optional, const char *arg);

/* n integers in 0, ..., below - 1. */
const int *r_indices(SEXP x, size_t n, size_t below, const char *arg);

/* c(kind, bits) */
dph_noise_law r_noise_law(SEXP noise);

/* c(lo, hi, sub, has_sign) */
dph_octaves r_octaves(SEXP cells);

/* A list with x, y, offset, use, center, inv_scale, y_center, y_inv_scale, intercept,
 * threads (1 where it is missing) and units (none where it is missing); the pointers live as
 * long as the list is protected. */
dph_rows r_rows(SEXP rows);

/* The same for a walk that does not know units: refuses them. */
dph_rows r_single_rows(SEXP rows);

/* All of them but x, for *rows with n and p. */
void r_rows_rest(SEXP list, dph_rows *rows);

/* Whole numbers as doubles times unit, or, for exact = TRUE, a matrix with columns
 * hi and lo: hi * 2^32 + lo, unit ignored. */
SEXP r_int64(const int64_t *v, size_t m, double unit, int exact);

/* The guard: r_guard_make() protects one object; core calls come with
 * guard.poll; after a status of DPH_ERR_INTERRUPT r_guard_raise() goes on with
 * R's own unwinding, otherwise raises the core's error. */
typedef struct {
  SEXP token;
  jmp_buf jump;
} r_guard;

void r_guard_make(r_guard *guard);
int r_guard_poll(void *guard);
void r_guard_raise(r_guard *guard, dph_status status, const dph_error *err);

#endif
