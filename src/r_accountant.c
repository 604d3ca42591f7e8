/* Glue for the accountant's recursion (dph_range.h). No data, no noise. */
#include "r_accountant.h"

#include <string.h>

#include "dph_range.h"
#include "r_glue.h"

/* A new curve: `count` selections of range m h after the given one. */
SEXP r_range_compose(SEXP curve, SEXP h, SEXP m, SEXP count) {
  const size_t n = (size_t)Rf_xlength(curve);
  const double *from = r_doubles(curve, n, 0, "curve");
  const double step = r_number(h, "h");
  const int width = r_integer(m, "m"), times = r_integer(count, "count");
  if (width < 1 || times < 0) {
    r_fail_argument("`m` must be positive and `count` not negative");
  }
  SEXP out = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)n));
  memcpy(REAL(out), from, n * sizeof(double));
  r_guard guard;
  r_guard_make(&guard);
  const dph_poll poll = {r_guard_poll, &guard};
  dph_error err;
  const dph_status status =
      dph_range_compose(REAL(out), n, step, (size_t)width, (size_t)times, &poll, &err);
  r_guard_raise(&guard, status, &err);
  UNPROTECT(2);
  return out;
}
