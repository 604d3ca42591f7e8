/* Entries of r_mechanism.c, for the registration table. */
#ifndef R_MECHANISM_H_INCLUDED
#define R_MECHANISM_H_INCLUDED

#define R_NO_REMAP
#include <Rinternals.h>

SEXP r_release_vector(SEXP value, SEXP multiplier, SEXP noise, SEXP key, SEXP exact);
SEXP r_select_top(SEXP scores, SEXP multiplier, SEXP how, SEXP bits, SEXP s, SEXP mirrored,
                  SEXP key, SEXP exact);

#endif
