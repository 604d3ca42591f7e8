/* Exact scaling of doubles to wide integers, so that the noise of a vector that
 * comes from outside is integer noise too.
 *
 *   t(v) = round(v M / 2^p), halves away from zero, clamped to +-2^126,
 *
 * for 2^40 <= M < 2^41 and any p. v is a 2^q with a whole number a of at most 53
 * bits, so the product is a M 2^(q - p), formed in 128 bits and shifted: no
 * floating point rounds anything.
 *
 * Sensitivity: for all finite doubles a and b,
 *   |t(a) - t(b)| <= |a - b| M / 2^p + 1.
 * Rounding moves either number by at most 1/2; the clamp is 1-Lipschitz. So a
 * vector of d numbers moves by at most Delta_1 M / 2^p + d in l1,
 * Delta_2 M / 2^p + sqrt(d) in l2, Delta_inf M / 2^p + 1 in the sup norm. t is odd,
 * so the same holds after taking absolute values.
 * A caller refuses NaN and infinite values; here NaN is 0 and +-Inf the bound. */
#ifndef DPH_SCALE_H_INCLUDED
#define DPH_SCALE_H_INCLUDED

#include "dph_base.h"

/* A signed number hi 2^64 + lo in two's complement. The functions below take
 * numbers of at most 2^126 + 2^64 in size. */
typedef struct {
  int64_t hi;
  uint64_t lo;
} dph_wide;

/* hi 2^64 + lo, for differences. */
typedef struct {
  uint64_t hi, lo;
} dph_gap;

/* m 2^-p with 2^40 <= m < 2^41. */
typedef struct {
  uint64_t m;
  int p;
} dph_multiplier;

dph_status dph_multiplier_check(const dph_multiplier *by, dph_error *err);

dph_wide dph_scale(double v, const dph_multiplier *by);

/* x 2^p / m: a fixed function of the integer x, hence post-processing of a noisy one.
 * Finite, within two roundings. */
double dph_unscale(dph_wide x, const dph_multiplier *by);

static inline int dph_wide_less(dph_wide a, dph_wide b) {
  return a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo);
}

static inline dph_wide dph_wide_add(dph_wide a, int64_t b) {
  const uint64_t low = (uint64_t)b;
  dph_wide out = {a.hi, a.lo + low};
  out.hi += (int64_t)(out.lo < low) - (int64_t)(b < 0);
  return out;
}

/* a - b for a >= b, exact. */
static inline dph_gap dph_wide_gap(dph_wide a, dph_wide b) {
  const dph_gap out = {(uint64_t)a.hi - (uint64_t)b.hi - (a.lo < b.lo), a.lo - b.lo};
  return out;
}

static inline int dph_gap_less(dph_gap a, dph_gap b) {
  return a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo);
}

static inline dph_gap dph_gap_add(dph_gap a, uint64_t b) {
  const dph_gap out = {a.hi + (a.lo + b < b), a.lo + b};
  return out;
}

/* a - b for a >= b. */
static inline dph_gap dph_gap_minus(dph_gap a, dph_gap b) {
  const dph_gap out = {a.hi - b.hi - (a.lo < b.lo), a.lo - b.lo};
  return out;
}

/* min(a, 2^63). */
static inline uint64_t dph_gap_clamp(dph_gap a) {
  const uint64_t most = UINT64_C(1) << 63;
  return a.hi != 0 || a.lo > most ? most : a.lo;
}

#endif
