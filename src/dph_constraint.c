/* The table of constraints; see dph_constraint.h. */
#include "dph_constraint.h"

#include <string.h>

static void project_none(double *w, const double *unit, size_t k, int intercept,
                         double radius) {
  (void)w;
  (void)unit;
  (void)k;
  (void)intercept;
  (void)radius;
}

/* The Euclidean projection, in the caller's units, of the slopes on the ball of
 * that radius about zero. */
static void project_l2(double *w, const double *unit, size_t k, int intercept,
                       double radius) {
  const size_t first = intercept ? 1 : 0;
  double size = 0.0;
  for (size_t j = first; j < k; j++) {
    size = hypot(size, w[j] * unit[j]);
  }
  if (size > radius) {
    for (size_t j = first; j < k; j++) {
      w[j] *= radius / size;
    }
  }
}

static const dph_constraint constraints[] = {
    {"none", project_none},
    {"l2_ball", project_l2},
};

const dph_constraint *dph_constraint_find(const char *name) {
  for (size_t i = 0; i < sizeof constraints / sizeof constraints[0]; i++) {
    if (strcmp(constraints[i].name, name) == 0) {
      return &constraints[i];
    }
  }
  return NULL;
}
