/* Medians over groups of records, coordinate by coordinate.
 *
 * A group's sum moves by what its one replaced record moves; the median of the sums is
 * a function of the sums that moves by no more in any coordinate: with an even number of
 * groups the mean of the two middle ones, rounded down, which keeps that for integers. */
#ifndef DPH_GROUPS_H_INCLUDED
#define DPH_GROUPS_H_INCLUDED

#include "dph_base.h"

/* sums: groups x k, one column per coordinate, |sums| <= 2^62; sorted in place. */
void dph_group_median(int64_t *sums, size_t groups, size_t k, int64_t *out);

/* The same for plain sums, without NaN. */
void dph_group_median_plain(double *sums, size_t groups, size_t k, double *out);

#endif
