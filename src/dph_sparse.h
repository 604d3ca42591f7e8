/* Gradients coordinate by coordinate from a matrix in compressed columns: the source of
 * Frank-Wolfe on many columns. The counterpart of dph_rows.h and dph_gradient.h, never
 * dense: time goes with the entries, memory with the rows.
 *
 * Column j holds entries p[j], ..., p[j + 1] - 1: x[e] in row i[e]. Standardised they are
 * z = x[e] inv_scale[j]; centres are 0, so that what is not stored is 0. An intercept is
 * a column of ones before them.
 *
 * Same bits: margins, derivatives, integer sums and counts are those that the dense walks
 * give for the same matrix. Margins add four columns at a time, as dph_rows.c does, for
 * adding a zero changes nothing; T(0) = 0; a zero of a record is counted as one.
 *
 * Sensitivity (replace one row): each column is checked, before it is read, to hold rows
 * in range and in strictly rising order. So a record has at most one entry in a column, a
 * coordinate's contribution is one number, rounded and clamped to +-limit last: what one
 * record changes is at most 2 limit in each coordinate, exactly. In counts it moves at
 * most k counts out of cells and k into others. A record with a non-finite entry,
 * response or offset, or not in use, adds zero to sums and is in no count.
 *
 * A view (rows.index) names each row at most once. One thread. */
#ifndef DPH_SPARSE_H_INCLUDED
#define DPH_SPARSE_H_INCLUDED

#include "dph_cells.h"
#include "dph_gradient.h"

typedef struct {
  dph_rows rows;      /* x and center are not read */
  const double *x;    /* entries */
  const int *i;       /* entries; from 0 */
  const int *p;       /* columns + 1 */
  size_t entries;     /* of x and i */
} dph_sparse;

/* The whole structure; the functions below check what they touch. */
dph_status dph_sparse_check(const dph_sparse *s, dph_error *err);

/* norm[i] of all rows of storage, + inf for a row that adds zero. */
dph_status dph_sparse_norms(const dph_sparse *s, const dph_poll *poll, double *norm,
                            dph_error *err);

/* eta of all rows of storage, 0 for a row that adds zero; w: k numbers, finite. */
dph_status dph_sparse_margins(const dph_sparse *s, const double *norm, const double *w,
                              const dph_poll *poll, double *eta, dph_error *err);

/* The sums at w of a rule that goes coordinate by coordinate, without groups: k integers,
 * or, with rule->step = 0, k plain sums (their bits are not those of dense rows). */
dph_status dph_sparse_sum(const dph_sparse *s, const double *norm, const double *w,
                          const dph_gradient_rule *rule, const dph_poll *poll,
                          int64_t *exact, double *plain, dph_error *err);

/* Counts of the sizes |psi_i z_ij| at w, all coordinates of all records in one table. */
dph_status dph_sparse_count(const dph_sparse *s, const double *norm, const double *w,
                            const dph_gradient_rule *rule, const dph_octaves *cells,
                            const dph_poll *poll, int64_t *counts, dph_error *err);

#endif
