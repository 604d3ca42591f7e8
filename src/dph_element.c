/* Transforms of gradient coordinates; see dph_element.h. */
#include "dph_element.h"

#include <string.h>

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

#define STRETCH 64

/* Parabolas through three nodes, for a stretch of numbers. Loops are split so that all but
 * the look-up are vectorised. */
DPH_INLINE void smooth(double *restrict z, const double *restrict psi,
                       const dph_element_rule *rule) {
  const double scale = rule->bound, inverse = 1.0 / rule->bound, most = 1e15 * rule->bound;
  const double cells = (double)(rule->nodes - 2);
  const double *table = rule->table;
  double at[STRETCH], two[2 * STRETCH], third[STRETCH];
  int left[STRETCH];
  for (size_t i = 0; i < STRETCH; i++) {
    double g = psi[i] * z[i];
    g = g > -most ? g : -most;
    g = g < most ? g : most;
    z[i] = g;
  }
  for (size_t i = 0; i < STRETCH; i++) {
    const double t = fabs(z[i]) * inverse, v = t / (1.0 + t) * cells;
    left[i] = (int)v; /* below `cells` */
    at[i] = v - (double)left[i];
  }
  for (size_t i = 0; i < STRETCH; i++) {
    const double *f = table + left[i];
    memcpy(two + 2 * i, f, 2 * sizeof *f); /* one move */
    third[i] = f[2];
  }
  for (size_t i = 0; i < STRETCH; i++) {
    const double first = two[2 * i], second = two[2 * i + 1];
    const double rise = second - first, bend = (third[i] - second) - rise;
    const double size = first + at[i] * (rise + 0.5 * (at[i] - 1.0) * bend);
    z[i] = copysign(scale * size, z[i]);
  }
}

DPH_KERNEL void dph_element_catoni_smooth(double *restrict z, const double *restrict psi,
                               const dph_element_rule *rule) {
  for (size_t i = 0; i < DPH_BLOCK; i += STRETCH) {
    smooth(z + i, psi + i, rule);
  }
}
