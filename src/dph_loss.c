/* The table of losses; see dph_loss.h. */
#include "dph_loss.h"

#include <string.h>

/* Squared: (eta - y)^2 / 2. */
static void squared_derivative(const double *eta, const double *y, size_t len,
                               const double *tuning, double *out) {
  (void)tuning;
  for (size_t i = 0; i < len; i++) {
    out[i] = eta[i] - y[i];
  }
}

static void squared_value(const double *eta, const double *y, size_t len,
                          const double *tuning, double *out) {
  (void)tuning;
  for (size_t i = 0; i < len; i++) {
    out[i] = 0.5 * (eta[i] - y[i]) * (eta[i] - y[i]);
  }
}

static double clamp01(double v) { /* NaN stays */
  v = v < 0.0 ? 0.0 : v;
  return v > 1.0 ? 1.0 : v;
}

/* Logistic: log(1 + e^eta) - y eta, y clamped to [0, 1]. One exponential of a
 * negative number, so nothing overflows. */
static void logistic_derivative(const double *eta, const double *y, size_t len,
                                const double *tuning, double *out) {
  (void)tuning;
  for (size_t i = 0; i < len; i++) {
    const double small = exp(-fabs(eta[i]));
    const double p = eta[i] < 0.0 ? small / (1.0 + small) : 1.0 / (1.0 + small);
    out[i] = p - clamp01(y[i]);
  }
}

static void logistic_value(const double *eta, const double *y, size_t len,
                           const double *tuning, double *out) {
  (void)tuning;
  for (size_t i = 0; i < len; i++) {
    const double above = eta[i] > 0.0 ? eta[i] : 0.0;
    out[i] = above + log1p(exp(-fabs(eta[i]))) - clamp01(y[i]) * eta[i];
  }
}

/* Huber with corner k = tuning[0], divided by k: |r| - k/2 beyond the corner. */
static void huber_derivative(const double *eta, const double *y, size_t len,
                             const double *tuning, double *out) {
  const double k = tuning[0];
  for (size_t i = 0; i < len; i++) {
    double u = (eta[i] - y[i]) / k;
    u = u < 1.0 ? u : (u == u ? 1.0 : u);
    out[i] = u > -1.0 ? u : (u == u ? -1.0 : u);
  }
}

static void huber_value(const double *eta, const double *y, size_t len,
                        const double *tuning, double *out) {
  const double k = tuning[0];
  for (size_t i = 0; i < len; i++) {
    const double r = fabs(eta[i] - y[i]);
    out[i] = r < k ? 0.5 * r * r / k : r - 0.5 * k;
  }
}

/* Biweight with c = tuning[0], scaled so that its derivative
 * BIWEIGHT_PEAK u (1 - u^2)^2, u = (eta - y) / c, peaks at 1; flat beyond c. */
#define BIWEIGHT_PEAK 3.4938562148434216 /* 25 sqrt(5) / 16 */

static void biweight_derivative(const double *eta, const double *y, size_t len,
                                const double *tuning, double *out) {
  const double c = tuning[0];
  for (size_t i = 0; i < len; i++) {
    const double u = (eta[i] - y[i]) / c, v = 1.0 - u * u;
    out[i] = v > 0.0 ? BIWEIGHT_PEAK * u * v * v : 0.0;
  }
}

static void biweight_value(const double *eta, const double *y, size_t len,
                           const double *tuning, double *out) {
  const double c = tuning[0];
  for (size_t i = 0; i < len; i++) {
    const double u = (eta[i] - y[i]) / c, v = 1.0 - u * u;
    out[i] = BIWEIGHT_PEAK * c / 6.0 * (v > 0.0 ? 1.0 - v * v * v : 1.0);
  }
}

/* Mean: |w - x|^2 / 2 is no function of a margin, but its gradient w - x is -1 times
 * the row about w: rows are to be centred there. The value is not asked for. */
static void mean_derivative(const double *eta, const double *y, size_t len,
                            const double *tuning, double *out) {
  (void)eta;
  (void)y;
  (void)tuning;
  for (size_t i = 0; i < len; i++) {
    out[i] = -1.0;
  }
}

static const dph_loss losses[] = {
    {"squared", squared_derivative, squared_value, 1.0, 0, 0},
    {"logistic", logistic_derivative, logistic_value, 0.25, 0, 0},
    {"huber", huber_derivative, huber_value, 1.0, 1, 0},
    {"mean", mean_derivative, NULL, 1.0, 0, 1},
    {"biweight", biweight_derivative, biweight_value, BIWEIGHT_PEAK, 1, 0},
};

const dph_loss *dph_loss_find(const char *name) {
  for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++) {
    if (strcmp(losses[i].name, name) == 0) {
      return &losses[i];
    }
  }
  return NULL;
}
