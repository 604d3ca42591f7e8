/* What a walk makes of each record's gradient, and what that needs: see dph_gradient.h. */
#ifndef DPH_RULE_H_INCLUDED
#define DPH_RULE_H_INCLUDED

#include "dph_element.h"
#include "dph_loss.h"
#include "dph_rows.h"

/* Relative error allowed to a computed norm; the plan keeps
 * (k + 8) 2^-52 cond(L) below it. */
#define DPH_NORM_SLACK 1e-6

typedef struct dph_estimator {
  const char *name;
  /* multiplier[i] from psi[i] and norm[i], before the grid; or NULL */
  void (*multiplier)(const double *psi, const double *norm, double bound, double *out);
  dph_element element; /* of a coordinate, or NULL */
  int shrinks;         /* are covariates and response clamped first? */
} dph_estimator;

const dph_estimator *dph_estimator_find(const char *name);

typedef struct {
  const dph_loss *loss;
  const double *tuning; /* of the loss, or NULL if it needs none */
  const double *psi;    /* derivatives to be used, one per row of storage; NULL: the loss's */
  const dph_estimator *estimator;
  double bound; /* + inf: no clipping */
  double psi_bound;
  dph_element_rule element;
  double step;  /* grid; 0: plain sums into `plain` */
  double limit; /* integer clamp */
  const double *root; /* units: k x k lower triangular, column-major, or NULL (dph_units.h) */
  size_t groups;              /* 0: no groups */
  const int *group;           /* one per row of storage, in 0, ..., groups - 1 */
  const double *group_weight; /* groups */
} dph_gradient_rule;

/* Sums that a walk fills: k, or groups x k. */
static inline size_t dph_rule_sums(const dph_gradient_rule *rule) {
  return rule->groups > 0 ? rule->groups : 1;
}

#endif
