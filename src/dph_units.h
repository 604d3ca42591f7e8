/* Records that are units: several rows each, all of which one person may have brought.
 *
 * Unit u has the rows order[start[u]], ..., order[start[u + 1] - 1] of storage, in that order; a
 * unit without rows is a record of zeros. Its rows count with the weight
 *
 *   weight_u = scale min(1, most / rows of u)
 *
 * each: at most `most` rows of a unit, the mean of them for most = 1.
 *
 * The record of unit u has the gradient U = weight_u sum psi_i z_i over its rows, in doubles,
 * before anything is bounded. What is done with it afterwards is what is done with the gradient
 * of a single row (dph_gradient.h), with psi = 1 and z = U: bounded last and rounded once, so
 * that replacing a unit with all its rows changes a sum by no more than replacing a row does
 * without units. With the estimator "covariate" rows count psi_i clamped to [-1, 1], and the
 * whole unit min(1, bound / sqrt(sum of (weight_u norm_i)^2)), which depends on the covariates
 * alone; as the length of U may be more than bound even so, it is clipped there like any other.
 *
 * A row that adds zero, or whose derivative is NaN, adds zero to its unit; entries of U count as at
 * most 1e140; a unit whose sum is NaN or (for whole records) has no finite length is a record of
 * zeros. */
#ifndef DPH_UNITS_H_INCLUDED
#define DPH_UNITS_H_INCLUDED

#include "dph_psi.h"

/* Units start, ..., start + DPH_BLOCK - 1: U into work->unit->z, its length under rule->root into
 * eta (whole records), psi = 1, and valid; all of them 0 where there is no unit. Returns the units
 * that exist. */
size_t dph_unit_block(const dph_rows *rows, size_t start, const double *norm, const double *w,
                      const dph_gradient_rule *rule, dph_block *work);

/* out[u] = sqrt(sum of (weight_u norm_i)^2) over the unit's rows of finite norm. */
void dph_unit_norms(const dph_rows *rows, const double *norm, double *out);

#endif
