/* Entry of r_accountant.c, for the registration table. */
#ifndef R_ACCOUNTANT_H_INCLUDED
#define R_ACCOUNTANT_H_INCLUDED

#define R_NO_REMAP
#include <Rinternals.h>

SEXP r_range_compose(SEXP curve, SEXP h, SEXP m, SEXP count);

#endif
