/* Doubles to wide integers and back; see dph_scale.h. */
#include "dph_scale.h"

#include <string.h>

dph_status dph_multiplier_check(const dph_multiplier *by, dph_error *err) {
  if (by->m >> 40 != 1 || by->p < -4096 || by->p > 4096) {
    return dph_fail(err, DPH_ERR_ARGUMENT, "a multiplier is out of range");
  }
  return DPH_OK;
}

static int bit_length(dph_gap x) {
  uint64_t v = x.hi != 0 ? x.hi : x.lo;
  int bits = x.hi != 0 ? 64 : 0;
  for (int step = 32; step > 0; step /= 2) {
    if (v >> step != 0) {
      v >>= step;
      bits += step;
    }
  }
  return bits + (v != 0);
}

/* 0 <= by < 128; nothing may be lost at the top. */
static dph_gap shift_left(dph_gap x, int by) {
  dph_gap out = x;
  if (by >= 64) {
    out.hi = x.lo << (by - 64);
    out.lo = 0;
  } else if (by > 0) {
    out.hi = (x.hi << by) | (x.lo >> (64 - by));
    out.lo = x.lo << by;
  }
  return out;
}

/* round(x / 2^by), halves up, 0 < by < 128, x below 2^127. */
static dph_gap shift_right(dph_gap x, int by) {
  const dph_gap one = {0, 1};
  const dph_gap half = shift_left(one, by - 1);
  dph_gap sum = dph_gap_add(x, half.lo), out = {0, 0};
  sum.hi += half.hi;
  if (by >= 64) {
    out.lo = sum.hi >> (by - 64);
  } else {
    out.hi = sum.hi >> by;
    out.lo = (sum.hi << (64 - by)) | (sum.lo >> by);
  }
  return out;
}

/* round(x 2^by), at most 2^126, for x below 2^94. */
static dph_gap shift_clamped(dph_gap x, int by) {
  const dph_gap most = {UINT64_C(1) << 62, 0}, zero = {0, 0};
  if (by < 0) {
    return by < -95 ? zero : shift_right(x, -by); /* zero: x 2^by is below 1/2 */
  }
  const int bits = bit_length(x);
  if (bits == 0) {
    return zero;
  }
  return bits + by > 126 ? most : shift_left(x, by);
}

/* Without a branch, for signs come in no order. */
static dph_wide with_sign(dph_gap size, int negative) {
  const uint64_t flip = UINT64_C(0) - (uint64_t)negative;
  dph_wide out;
  out.lo = (size.lo ^ flip) + (uint64_t)negative;
  out.hi = (1 - 2 * negative) * (int64_t)size.hi - (negative & (size.lo != 0));
  return out;
}

/* v = +-a 2^exponent, by its bits. */
dph_wide dph_scale(double v, const dph_multiplier *by) {
  const uint64_t implied = UINT64_C(1) << 52;
  uint64_t bits;
  dph_gap product = {UINT64_C(1) << 62, 0};
  memcpy(&bits, &v, sizeof bits);
  const int negative = (int)(bits >> 63);
  const int exponent = (int)((bits >> 52) & 0x7ff);
  const uint64_t low = bits & (implied - 1);
  if (exponent < 0x7ff) {
    dph_mul_wide(exponent > 0 ? low | implied : low, by->m, &product.hi, &product.lo);
    product = shift_clamped(product, (exponent > 0 ? exponent : 1) - 1075 - by->p);
  } else if (low != 0) {
    product.hi = 0;
  }
  return with_sign(product, negative);
}

double dph_unscale(dph_wide x, const dph_multiplier *by) {
  const int negative = x.hi < 0;
  dph_gap size = {(uint64_t)x.hi, x.lo};
  if (negative) {
    size.lo = UINT64_C(0) - x.lo;
    size.hi = ~size.hi + (x.lo == 0);
  }
  double value = (double)size.hi * 18446744073709551616.0 + (double)size.lo;
  value = ldexp(value / (double)by->m, by->p);
  value = value < DBL_MAX ? value : DBL_MAX;
  return negative ? -value : value;
}
