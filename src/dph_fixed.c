/* Exact sums on a grid and the noise added to them; see dph_fixed.h. */
#include "dph_fixed.h"

#include "dph_noise.h"
#include "dph_rows.h"

dph_status dph_fixed_check(size_t n, double limit, dph_error *err) {
  if (!(limit >= 1.0) || !(limit <= 2251799813685248.0) ||
      !((double)n * limit < 4611686018427387904.0)) {
    return dph_fail(err, DPH_ERR_OVERFLOW, "the grid of a sum does not fit 62 bits");
  }
  return DPH_OK;
}

dph_status dph_add_noise(dph_rng *rng, dph_noise_law law, int64_t *v, size_t m,
                         dph_error *err) {
  if (law.kind == DPH_NOISE_NONE) {
    return DPH_OK;
  }
  if (law.bits < 0 || law.bits > DPH_NOISE_MAX_K) {
    return dph_fail(err, DPH_ERR_ARGUMENT, "noise scale out of range");
  }
  for (size_t i = 0; i < m; i++) {
    v[i] += law.kind == DPH_NOISE_LAPLACE ? dph_discrete_laplace(rng, law.bits)
                                          : dph_discrete_gaussian(rng, law.bits);
  }
  return DPH_OK;
}

DPH_INLINE double on_grid(double v, double limit) {
  v = v > -limit ? v : -limit;
  v = v < limit ? v : limit;
  return dph_round(v);
}

static double sum_of_eight(const double *a, const double *b) {
  return ((a[0] + a[1]) + (a[2] + a[3])) + ((b[0] + b[1]) + (b[2] + b[3]));
}

DPH_KERNEL double dph_block_fixed_sum(const double *z, const double *weight,
                                      double limit) {
  double a[4] = {0.0, 0.0, 0.0, 0.0}, b[4] = {0.0, 0.0, 0.0, 0.0};
  for (size_t i = 0; i < DPH_BLOCK; i += 8) {
    for (size_t j = 0; j < 4; j++) {
      a[j] += on_grid(weight[i + j] * z[i + j], limit);
    }
    for (size_t j = 0; j < 4; j++) {
      b[j] += on_grid(weight[i + 4 + j] * z[i + 4 + j], limit);
    }
  }
  return sum_of_eight(a, b);
}

DPH_KERNEL void dph_block_fixed(const double *z, const double *weight, double limit,
                                double *restrict out) {
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    out[i] = on_grid(weight[i] * z[i], limit);
  }
}

DPH_KERNEL double dph_block_plain_sum(const double *z, const double *weight) {
  double a[4] = {0.0, 0.0, 0.0, 0.0}, b[4] = {0.0, 0.0, 0.0, 0.0};
  for (size_t i = 0; i < DPH_BLOCK; i += 8) {
    for (size_t j = 0; j < 4; j++) {
      a[j] += weight[i + j] * z[i + j];
    }
    for (size_t j = 0; j < 4; j++) {
      b[j] += weight[i + 4 + j] * z[i + 4 + j];
    }
  }
  return sum_of_eight(a, b);
}

/* A signed 128-bit accumulator in two's complement, hi * 2^64 + lo. */
typedef struct {
  uint64_t hi, lo;
} wide;

static void wide_add_product(wide *acc, int64_t a, int64_t b) {
  const int negative = (a < 0) != (b < 0);
  const uint64_t ua = a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
  const uint64_t ub = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
  uint64_t hi, lo;
  dph_mul_wide(ua, ub, &hi, &lo);
  if (negative) {
    lo = ~lo + 1;
    hi = ~hi + (lo == 0);
  }
  acc->lo += lo;
  acc->hi += hi + (acc->lo < lo);
}

/* round(acc / 2^20), half up, if it is below 2^62 in size. */
static int wide_shift20(wide acc, int64_t *out) {
  const uint64_t half = UINT64_C(1) << 19;
  acc.lo += half;
  acc.hi += acc.lo < half;
  const uint64_t low = (acc.hi << 44) | (acc.lo >> 20);
  const uint64_t top = acc.hi >> 18; /* bits above 2^62 after the shift */
  const uint64_t all = UINT64_MAX >> 18;
  if (top == 0) {
    *out = (int64_t)low;
    return 1;
  }
  if (top == all) {
    const uint64_t size = ~low + 1;
    *out = size == 0 ? 0 : -(int64_t)size;
    return 1;
  }
  return 0;
}

dph_status dph_fixed_lower(const int64_t *root_int, size_t m, const int64_t *s,
                           int64_t *out, dph_error *err) {
  for (size_t a = 0; a < m; a++) {
    wide acc = {0, 0};
    for (size_t b = 0; b <= a; b++) {
      wide_add_product(&acc, root_int[a + b * m], s[b]);
    }
    if (!wide_shift20(acc, &out[a])) {
      return dph_fail(err, DPH_ERR_OVERFLOW, "a transformed sum does not fit 62 bits");
    }
  }
  return DPH_OK;
}
