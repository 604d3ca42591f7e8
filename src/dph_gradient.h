/* The sum over records of clipped gradients, in one walk over blocks of rows.
 *
 * Record i of the standardised design has gradient psi_i z_i, where psi_i is the
 * loss's derivative at eta_i = z_i'w. The estimator turns it into m_i z_i; for
 * "clipped" m_i = psi_i min(1, bound / (|psi_i| norm_i)) with norm_i = ||L z_i||,
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
 * within the bound; it keeps the integers in range come what may. */
#ifndef DPH_GRADIENT_H_INCLUDED
#define DPH_GRADIENT_H_INCLUDED

#include "dph_fixed.h"
#include "dph_loss.h"
#include "dph_rows.h"

/* Relative error allowed to a computed norm; the plan keeps
 * (k + 8) 2^-52 cond(L) below it. */
#define DPH_NORM_SLACK 1e-6

typedef struct dph_estimator {
  const char *name;
  /* multiplier[i] from psi[i] and norm[i], before the grid */
  void (*multiplier)(const double *psi, const double *norm, double bound, double *out);
} dph_estimator;

const dph_estimator *dph_estimator_find(const char *name);

typedef struct {
  const dph_loss *loss;
  const double *tuning; /* of the loss, or NULL if it needs none */
  const dph_estimator *estimator;
  double bound; /* + inf: no clipping */
  double step;  /* grid; 0: plain sums into `plain` */
  double limit; /* integer clamp */
} dph_gradient_rule;

/* Scratch of one walk: own with dph_gradient_work_free(). */
typedef struct {
  double *z, *y, *eta, *psi, *m, *work;
  unsigned char *valid;
} dph_gradient_work;

dph_status dph_gradient_work_make(size_t k, dph_gradient_work *w, dph_error *err);
void dph_gradient_work_free(dph_gradient_work *w);

/* norm[i] = ||L z_i|| for all n rows, + inf for a row that adds zero. root: k x k
 * lower triangular, column-major, or NULL. with_response: the norm of (z_i, y_i)
 * instead (root must be NULL). */
dph_status dph_row_norms(const dph_rows *rows, const double *root, int with_response,
                         dph_gradient_work *work, const dph_poll *poll, double *norm,
                         dph_error *err);

/* size[i] = |psi_i| norm_i at w, + inf for a row that adds zero. */
dph_status dph_gradient_sizes(const dph_rows *rows, const double *norm, const double *w,
                              const dph_loss *loss, dph_gradient_work *work,
                              const dph_poll *poll, double *size, dph_error *err);

/* exact (k integers) or, with step = 0, plain (k doubles): the sum at w. */
dph_status dph_gradient_sum(const dph_rows *rows, const double *norm, const double *w,
                            const dph_gradient_rule *rule, dph_gradient_work *work,
                            const dph_poll *poll, int64_t *exact, double *plain,
                            dph_error *err);

#endif
