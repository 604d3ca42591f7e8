/* The table of losses; see dph_loss.h. */
#include "dph_loss.h"

#include <string.h>

/* A loss's derivative of one record; tuning: its constant, one: the number. */
typedef double (*derivative)(double eta, double y, double tuning, double one);

/* 64 records at a time, for a compiler to vectorise; f is inlined. It may not compute
 * anything on one side of a condition only, and is not told that `one` is 1 (nor that
 * one - one is 0), or else clamps become branches. */
DPH_INLINE void each(derivative f, const double *eta, const double *y, size_t len,
                     const double *tuning, double *restrict out) {
  const volatile double hidden = 1.0;
  const double c = tuning ? tuning[0] : 1.0, one = hidden;
  size_t i = 0;
  for (; i + 64 <= len; i += 64) {
    for (size_t j = 0; j < 64; j++) {
      out[i + j] = f(eta[i + j], y[i + j], c, one);
    }
  }
  for (; i < len; i++) {
    out[i] = f(eta[i], y[i], c, one);
  }
}

/* v in [lower, upper]; a NaN stays. */
DPH_INLINE double clamp(double v, double lower, double upper) {
  v = upper < v ? upper : v;
  return lower > v ? lower : v;
}

/* Squared: (eta - y)^2 / 2. */
DPH_INLINE double squared_one(double eta, double y, double tuning, double one) {
  (void)tuning;
  (void)one;
  return eta - y;
}

DPH_KERNEL static void squared_derivative(const double *eta, const double *y, size_t len,
                                          const double *tuning, double *out) {
  each(squared_one, eta, y, len, tuning, out);
}

static void squared_value(const double *eta, const double *y, size_t len,
                          const double *tuning, double *out) {
  (void)tuning;
  for (size_t i = 0; i < len; i++) {
    out[i] = 0.5 * (eta[i] - y[i]) * (eta[i] - y[i]);
  }
}

#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 0
/* e^t for -708 <= t <= 0, within some 2e-16 of it; of a NaN some number. With k the whole
 * number next to t / log 2, t = k log 2 + r, e^r by its series up to r^13 / 13! (the rest
 * is below 2^-60) and 2^k added to the exponent. No branches. */
DPH_INLINE double exp_below(double t) {
  const double magic = 6755399441055744.0; /* 1.5 * 2^52: its last bits become k */
  const double shifted = t * 1.4426950408889634 + magic;
  const double k = shifted - magic;
  const double r = (t - k * 0.6931471803691238) - k * 1.9082149292705877e-10;
  double e = 1.0 / 6227020800.0;
  uint64_t bits, power;
  e = e * r + 1.0 / 479001600.0;
  e = e * r + 1.0 / 39916800.0;
  e = e * r + 1.0 / 3628800.0;
  e = e * r + 1.0 / 362880.0;
  e = e * r + 1.0 / 40320.0;
  e = e * r + 1.0 / 5040.0;
  e = e * r + 1.0 / 720.0;
  e = e * r + 1.0 / 120.0;
  e = e * r + 1.0 / 24.0;
  e = e * r + 1.0 / 6.0;
  e = e * r + 0.5;
  e = e * r + 1.0;
  e = e * r + 1.0;
  memcpy(&bits, &e, sizeof bits);
  memcpy(&power, &shifted, sizeof power);
  bits += power << 52;
  memcpy(&e, &bits, sizeof e);
  return e;
}
#else
DPH_INLINE double exp_below(double t) { return exp(t); }
#endif

/* Logistic: log(1 + e^eta) - y eta, y clamped to [0, 1]. One exponential of a
 * negative number, so nothing overflows. A NaN stays, by e - e. */
DPH_INLINE double logistic_one(double eta, double y, double tuning, double one) {
  const double e = clamp(eta, -708.0 * one, 708.0 * one);
  const double small = exp_below(fabs(e) * -one);
  const double p = (e < 0.0 ? small : 1.0) / (1.0 + small);
  (void)tuning;
  return (p - clamp(y, one - one, one)) + (e - e);
}

DPH_KERNEL static void logistic_derivative(const double *eta, const double *y, size_t len,
                                           const double *tuning, double *out) {
  each(logistic_one, eta, y, len, tuning, out);
}

static void logistic_value(const double *eta, const double *y, size_t len,
                           const double *tuning, double *out) {
  (void)tuning;
  for (size_t i = 0; i < len; i++) {
    const double above = eta[i] > 0.0 ? eta[i] : 0.0;
    out[i] = above + log1p(exp(-fabs(eta[i]))) - clamp(y[i], 0.0, 1.0) * eta[i];
  }
}

/* Huber with corner k = tuning[0], divided by k: |r| - k/2 beyond the corner. */
DPH_INLINE double huber_one(double eta, double y, double tuning, double one) {
  return clamp((eta - y) / tuning, -one, one);
}

DPH_KERNEL static void huber_derivative(const double *eta, const double *y, size_t len,
                                        const double *tuning, double *out) {
  each(huber_one, eta, y, len, tuning, out);
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

DPH_INLINE double biweight_one(double eta, double y, double tuning, double one) {
  double u = (eta - y) / tuning; /* a NaN counts as beyond c */
  u = u < one ? u : one;
  u = u > -one ? u : -one;
  const double v = 1.0 - u * u;
  return BIWEIGHT_PEAK * u * v * v;
}

DPH_KERNEL static void biweight_derivative(const double *eta, const double *y, size_t len,
                                           const double *tuning, double *out) {
  each(biweight_one, eta, y, len, tuning, out);
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
