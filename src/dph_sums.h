/* Sums of winsorised columns.
 *
 * Column j: each value becomes (x - center_j) inv_step_j, NaN (or a row not in
 * use) adds zero, the rest is rounded to an integer and clamped to +-limit: that
 * is the winsorised value with limits center_j +- limit / inv_step_j.
 *
 * Sensitivity (replace one row): 2 limit in each column; over d columns
 * 2 limit sqrt(d) in l2, 2 limit d in l1. */
#ifndef DPH_SUMS_H_INCLUDED
#define DPH_SUMS_H_INCLUDED

#include "dph_fixed.h"
#include "dph_rows.h"

/* rows->center and rows->inv_scale hold the centre and 1 / step; exact: p sums. plain
 * != NULL asks for plain sums of (x - center) inv_scale instead, nothing clamped. */
dph_status dph_column_sums(const dph_rows *rows, double limit, const dph_poll *poll,
                           int64_t *exact, double *plain, dph_error *err);

/* p counts of values that are there. Sensitivity: 1 in each column. */
dph_status dph_column_complete(const dph_rows *rows, const dph_poll *poll,
                               int64_t *counts, dph_error *err);

#endif
