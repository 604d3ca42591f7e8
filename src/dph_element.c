/* Transforms of gradient coordinates; see dph_element.h. */
#include "dph_element.h"

DPH_KERNEL void dph_element_plain(double *restrict z, const double *restrict psi,
                       const dph_element_rule *rule) {
  (void)rule;
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    z[i] *= psi[i];
  }
}

DPH_KERNEL void dph_element_winsorize(double *restrict z, const double *restrict psi,
                           const dph_element_rule *rule) {
  const double bound = rule->bound;
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    double g = psi[i] * z[i];
    g = g > -bound ? g : -bound;
    z[i] = g < bound ? g : bound;
  }
}

DPH_KERNEL void dph_element_truncate(double *restrict z, const double *restrict psi,
                          const dph_element_rule *rule) {
  const double bound = rule->bound;
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    const double g = psi[i] * z[i];
    z[i] = fabs(g) <= bound ? g : 0.0;
  }
}

#define SQRT2 1.4142135623730951

DPH_KERNEL void dph_element_catoni(double *restrict z, const double *restrict psi,
                        const dph_element_rule *rule) {
  const double most = rule->bound * SQRT2, sixth = 1.0 / (6.0 * rule->bound * rule->bound);
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    double g = psi[i] * z[i];
    g = g > -most ? g : -most;
    g = g < most ? g : most;
    z[i] = g - g * g * g * sixth;
  }
}

/* Parabolas through three nodes; loops are split so that all but the look-up are
 * vectorised. */
DPH_KERNEL void dph_element_catoni_smooth(double *restrict z, const double *restrict psi,
                               const dph_element_rule *rule) {
  const double scale = rule->bound, inverse = 1.0 / rule->bound, most = 1e15 * rule->bound;
  const double cells = (double)(rule->nodes - 2);
  const double *table = rule->table;
  double at[DPH_BLOCK], size[DPH_BLOCK];
  int left[DPH_BLOCK];
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    double g = psi[i] * z[i];
    g = g > -most ? g : -most;
    g = g < most ? g : most;
    z[i] = g;
  }
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    const double t = fabs(z[i]) * inverse, v = t / (1.0 + t) * cells;
    left[i] = (int)v; /* below `cells` */
    at[i] = v - (double)left[i];
  }
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    const double *f = table + left[i];
    const double rise = f[1] - f[0], bend = (f[2] - f[1]) - rise;
    size[i] = f[0] + at[i] * (rise + 0.5 * (at[i] - 1.0) * bend);
  }
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    z[i] = copysign(scale * size[i], z[i]);
  }
}
