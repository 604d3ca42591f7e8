/* Robust transforms of the coordinates of per-record gradients: z becomes T(psi z), one
 * block of DPH_BLOCK numbers in units of the gradient; z and psi finite, the product g may
 * be infinite.
 *
 *   plain          as it is
 *   winsorized     clamped to +-bound
 *   truncated      zero where |g| > bound
 *   catoni         bound phi(g / bound), phi(t) = t - t^3/6 for |t| <= sqrt 2, constant
 *                  beyond; at most bound 2 sqrt(2)/3
 *   catoni_smooth  bound E phi(g (1 + Z / sqrt(beta)) / bound), Z normal, read off a table
 *                  of that odd function of t = |g| / bound at t / (1 + t) = 0, 1/m, ..., 1,
 *                  1 + 1/m (m + 2 >= 4 values, the last beyond reach) by the parabola through
 *                  the value to the left and the next two
 *
 * The sensitivity is not these functions' business: whoever sums clamps to integers
 * (dph_fixed.h), and what one record adds is at most that clamp. */
#ifndef DPH_ELEMENT_H_INCLUDED
#define DPH_ELEMENT_H_INCLUDED

#include "dph_rows.h"

typedef struct {
  double bound;
  const double *table; /* nodes values, or NULL */
  size_t nodes;
} dph_element_rule;

typedef void (*dph_element)(double *restrict z, const double *restrict psi,
                            const dph_element_rule *rule);

void dph_element_plain(double *restrict z, const double *restrict psi,
                       const dph_element_rule *rule);
void dph_element_winsorize(double *restrict z, const double *restrict psi,
                           const dph_element_rule *rule);
void dph_element_truncate(double *restrict z, const double *restrict psi,
                          const dph_element_rule *rule);
void dph_element_catoni(double *restrict z, const double *restrict psi,
                        const dph_element_rule *rule);
void dph_element_catoni_smooth(double *restrict z, const double *restrict psi,
                               const dph_element_rule *rule);

#endif
