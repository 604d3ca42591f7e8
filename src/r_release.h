/* Entries of r_release.c, r_pgd.c, r_gradient.c and r_sparse.c, for the registration table. */
#ifndef R_RELEASE_H_INCLUDED
#define R_RELEASE_H_INCLUDED

#define R_NO_REMAP
#include <Rinternals.h>

SEXP r_count_octaves(SEXP rows, SEXP what, SEXP cells, SEXP unit, SEXP noise, SEXP key,
                     SEXP exact);
SEXP r_count_equal(SEXP rows, SEXP lower, SEXP width, SEXP m, SEXP unit, SEXP noise,
                   SEXP key, SEXP exact);
SEXP r_row_norms(SEXP rows, SEXP root, SEXP with_response);
SEXP r_count_sizes(SEXP rows, SEXP norm, SEXP w, SEXP loss, SEXP root, SEXP cells, SEXP unit,
                   SEXP noise, SEXP key, SEXP exact);
SEXP r_unit_gradients(SEXP rows, SEXP norm, SEXP w, SEXP plan);
SEXP r_moments(SEXP rows, SEXP norm, SEXP bound, SEXP step, SEXP noise, SEXP key,
               SEXP exact);
SEXP r_weighted_moments(SEXP rows, SEXP weight, SEXP root, SEXP bound, SEXP step, SEXP noise,
                        SEXP key, SEXP exact);
SEXP r_column_sums(SEXP rows, SEXP limit, SEXP noise, SEXP key, SEXP exact);
SEXP r_column_complete(SEXP rows, SEXP unit, SEXP noise, SEXP key, SEXP exact);
SEXP r_pgd(SEXP rows, SEXP norm, SEXP w, SEXP plan, SEXP key, SEXP exact);
SEXP r_gradient(SEXP rows, SEXP norm, SEXP w, SEXP plan, SEXP key, SEXP exact);
SEXP r_margins(SEXP rows, SEXP norm, SEXP w);
SEXP r_count_coordinates(SEXP rows, SEXP norm, SEXP w, SEXP plan, SEXP cells, SEXP unit,
                         SEXP key, SEXP exact);
SEXP r_permutation(SEXP n, SEXP key);
SEXP r_loss(SEXP name, SEXP what, SEXP eta, SEXP y, SEXP tuning);
SEXP r_sparse_sound(SEXP x);
SEXP r_sparse_norms(SEXP rows);
SEXP r_sparse_margins(SEXP rows, SEXP norm, SEXP w);
SEXP r_sparse_gradient(SEXP rows, SEXP norm, SEXP w, SEXP plan, SEXP key, SEXP exact);
SEXP r_sparse_coordinates(SEXP rows, SEXP norm, SEXP w, SEXP plan, SEXP cells, SEXP unit,
                          SEXP key, SEXP exact);
SEXP r_float_check(void);

#endif
