/* The sum over records of robust gradients, in one walk over blocks of rows.
 *
 * Record i of the standardised design has gradient psi_i z_i, where psi_i is the
 * loss's derivative at eta_i = z_i'w (or the caller's number).
 *
 * Whole records: the estimator turns it into m_i z_i; for "clipped"
 * m_i = psi_i min(1, bound / (|psi_i| norm_i)) with norm_i = ||L z_i||,
 * L the (public) lower triangular root of the preconditioner or the identity.
 * For "covariate", meant for a loss whose derivative stays within [-1, 1], m_i = psi_i,
 * clamped to that, times min(1, bound / norm_i): the weight depends on the covariates alone.
 * Its integer contribution is round(m_i z_i / step), clamped to +-limit.
 *
 * Sensitivity (replace one row), with c = bound (1 - DPH_NORM_SLACK) / step and
 * k columns: each contribution v has ||L v|| <= c + ||L|| sqrt(k)/2, so L times
 * the exact sum moves by at most 2 c + ||L|| sqrt(k) in l2, and its rounding by
 * sqrt(k) more. The caller takes step so that this is what its noise is for.
 * A non-finite row adds zero (dph_rows.h); a NaN derivative adds zero, an
 * infinite one counts as bound / norm_i; a norm below 1e-100 counts as 1e-100, for
 * squares underflow there. The element-wise clamp never binds for a record
 * within the bound; it keeps the integers in range come what may.
 *
 * Coordinate by coordinate ("winsorized", "truncated", "catoni", "catoni_smooth"; "shrunken":
 * covariates and response clamped to +-bound before all else, |psi_i| to psi_bound): the
 * contribution is round(T(psi_i z_ij) / step), T of dph_element.h, clamped to +-limit, limit a
 * whole number. What one record changes is at most 2 limit in each coordinate,
 * 2 limit sqrt(k) in l2, exactly. No root goes with these.
 *
 * With units (dph_units.h) a record is a unit: the same bounds hold for its summed gradient, and
 * for replacing it with all its rows. Norms and margins stay those of rows.
 *
 * Groups (coordinate by coordinate of single rows only): record i is summed in group[i],
 * weighted by group_weight <= 1 of it, and the statistic is the median over groups
 * (dph_groups.h), which moves by no more. */
#ifndef DPH_GRADIENT_H_INCLUDED
#define DPH_GRADIENT_H_INCLUDED

#include "dph_cells.h"
#include "dph_fixed.h"
#include "dph_rule.h"
#include "dph_work.h"

/* norm[i] = ||L z_i|| for all n rows, + inf for a row that adds zero. root: k x k
 * lower triangular, column-major, or NULL. with_response: the norm of (z_i, y_i)
 * instead (root must be NULL). */
dph_status dph_row_norms(const dph_rows *rows, const double *root, int with_response,
                         const dph_gradient_work *work, const dph_poll *poll, double *norm,
                         dph_error *err);

/* size[i] = |psi_i| norm_i at w, + inf for a row that adds zero; with units the length of each
 * one's gradient under the root (k x k lower triangular, or NULL: as it is). */
dph_status dph_gradient_sizes(const dph_rows *rows, const double *norm, const double *w,
                              const dph_loss *loss, const double *root,
                              const dph_gradient_work *work, const dph_poll *poll,
                              double *size, dph_error *err);

/* exact (integers) or, with step = 0, plain (doubles): the sums at w, dph_rule_sums() per
 * column, one column per coordinate. */
dph_status dph_gradient_sum(const dph_rows *rows, const double *norm, const double *w,
                            const dph_gradient_rule *rule, const dph_gradient_work *work,
                            const dph_poll *poll, int64_t *exact, double *plain,
                            dph_error *err);

/* What a release adds its noise to, k integers: the median of groups, round(L s) (root_int:
 * the root times 2^20, dph_fixed.h), or the sums as they are. sum: scratch. */
dph_status dph_gradient_statistic(const dph_rows *rows, const double *norm, const double *w,
                                  const dph_gradient_rule *rule, const int64_t *root_int,
                                  const dph_gradient_work *work, const dph_poll *poll,
                                  int64_t *sum, int64_t *statistic, dph_error *err);

/* eta of all rows of storage, 0 for a row that adds zero. */
dph_status dph_margins(const dph_rows *rows, const double *norm, const double *w,
                       const dph_gradient_work *work, const dph_poll *poll, double *eta,
                       dph_error *err);

/* Counts of the sizes |psi_i z_ij| at w in octaves without sign, all coordinates of all
 * records in one table of dph_octaves_count(cells). */
dph_status dph_count_coordinates(const dph_rows *rows, const double *norm, const double *w,
                                 const dph_gradient_rule *rule, const dph_octaves *cells,
                                 const dph_gradient_work *work, const dph_poll *poll,
                                 int64_t *counts, dph_error *err);

#endif
