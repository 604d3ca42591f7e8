/* The table of estimators; see dph_rule.h. */
#include "dph_rule.h"

#include <string.h>

DPH_KERNEL static void clipped_multiplier(const double *psi, const double *norm,
                                          double bound, double *restrict out) {
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    const double size = norm[i] > 1e-100 ? norm[i] : 1e-100;
    const double most = bound / size;
    double m = psi[i] < most ? psi[i] : most; /* NaN becomes most; undone below */
    m = m > -most ? m : -most;
    out[i] = psi[i] == psi[i] ? m : 0.0;
  }
}

DPH_KERNEL static void covariate_multiplier(const double *psi, const double *norm,
                                            double bound, double *restrict out) {
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    const double size = norm[i] > 1e-100 ? norm[i] : 1e-100;
    const double ratio = bound / size;
    const double share = ratio < 1.0 ? ratio : 1.0;
    double m = psi[i] < 1.0 ? psi[i] : 1.0; /* NaN becomes 1; undone below */
    m = m > -1.0 ? m : -1.0;
    out[i] = (psi[i] == psi[i] ? m : 0.0) * share;
  }
}

static const dph_estimator estimators[] = {
    {"clipped", clipped_multiplier, NULL, 0},
    {"covariate", covariate_multiplier, NULL, 0},
    {"winsorized", NULL, dph_element_winsorize, 0},
    {"truncated", NULL, dph_element_truncate, 0},
    {"catoni", NULL, dph_element_catoni, 0},
    {"catoni_smooth", NULL, dph_element_catoni_smooth, 0},
    {"shrunken", NULL, dph_element_plain, 1},
};

const dph_estimator *dph_estimator_find(const char *name) {
  for (size_t i = 0; i < sizeof estimators / sizeof estimators[0]; i++) {
    if (strcmp(estimators[i].name, name) == 0) {
      return &estimators[i];
    }
  }
  return NULL;
}
