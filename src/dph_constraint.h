/* Constraint sets on the coefficients: one table of projections.
 * w: k coefficients in the standardised units, the intercept (if any) first and
 * free; unit[j] w[j] is coefficient j in the caller's units. Public values only. */
#ifndef DPH_CONSTRAINT_H_INCLUDED
#define DPH_CONSTRAINT_H_INCLUDED

#include "dph_base.h"

typedef struct {
  const char *name;
  void (*project)(double *w, const double *unit, size_t k, int intercept, double radius);
} dph_constraint;

const dph_constraint *dph_constraint_find(const char *name);

#endif
