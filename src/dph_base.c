#include "dph_base.h"

#include <fenv.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t live_blocks = 0;

const char *dph_status_name(dph_status code) {
#define DPH_STATUS_NAME(code, name) name,
  static const char *const names[] = {DPH_STATUS_LIST(DPH_STATUS_NAME)};
#undef DPH_STATUS_NAME
  return (unsigned)code < (unsigned)DPH_STATUS_COUNT ? names[code] : "unknown";
}

dph_status dph_fail(dph_error *err, dph_status code, const char *fmt, ...) {
  if (err != NULL) {
    va_list args;
    err->code = code;
    va_start(args, fmt);
    if (vsnprintf(err->message, sizeof err->message, fmt, args) < 0) {
      err->message[0] = '\0';
    }
    va_end(args);
  }
  return code;
}

dph_status dph_size_mul(size_t a, size_t b, size_t *out, dph_error *err) {
  if (b != 0 && a > SIZE_MAX / b) {
    return dph_fail(err, DPH_ERR_OVERFLOW, "a size is too large for this machine");
  }
  *out = a * b;
  return DPH_OK;
}

dph_status dph_alloc(void **out, size_t count, size_t size, dph_error *err) {
  size_t bytes = 0;
  *out = NULL;
  DPH_TRY(dph_size_mul(count, size, &bytes, err));
  void *p = calloc(bytes > 0 ? bytes : 1, 1);
  if (p == NULL) {
    return dph_fail(err, DPH_ERR_MEMORY, "not enough memory for the working space");
  }
  live_blocks++;
  *out = p;
  return DPH_OK;
}

void dph_free(void *p) {
  if (p != NULL) {
    live_blocks--;
    free(p);
  }
}

int64_t dph_live(void) { return live_blocks; }

dph_status dph_check_poll(const dph_poll *poll, dph_error *err) {
  if (poll != NULL && poll->poll != NULL && poll->poll(poll->user) != 0) {
    return dph_fail(err, DPH_ERR_INTERRUPT, "interrupted");
  }
  return DPH_OK;
}

/* Known answers. The inputs are volatile so that nothing is folded at compile
 * time; the expressions are those of the kernels. */
static int rounds_right(void) {
  static const volatile double given[] = {0.3,  0.5,  1.5,  2.5,           -0.5,
                                          -1.5, -0.7, 1e9 + 0.4, 1099511627776.5,
                                          -2251799813685248.0};
  static const double wanted[] = {0.0,  0.0,  2.0, 2.0,           -0.0,
                                  -2.0, -1.0, 1e9, 1099511627776.0,
                                  -2251799813685248.0};
  for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
    const double v = given[i];
    const volatile double rounded = dph_round(v);
    if (!(rounded == wanted[i])) {
      return 0;
    }
  }
  return 1;
}

static int compares_right(void) {
  const uint64_t nan_bits = UINT64_C(0x7ff8000000000000);
  const uint64_t inf_bits = UINT64_C(0x7ff0000000000000);
  double nan_value, inf_value;
  memcpy(&nan_value, &nan_bits, sizeof nan_value);
  memcpy(&inf_value, &inf_bits, sizeof inf_value);
  const volatile double vnan = nan_value, vinf = inf_value, vbound = 2.0;
  const double v = vnan, bound = vbound, inf = vinf;
  const volatile double clamped = v > -bound ? v : -bound;
  const volatile double difference = inf - inf;
  return !(v == v) && v != v && !(v < bound) && !(v >= bound) && clamped == -2.0 &&
         difference != difference && inf > DBL_MAX && -inf < -DBL_MAX;
}

#define UNSAFE_FLAGS \
  "built with unsafe floating point flags; rebuild without -ffast-math"

dph_status dph_float_check(dph_error *err) {
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0)
  return dph_fail(err, DPH_ERR_FLOAT, "%s", UNSAFE_FLAGS);
#else
  if (fegetround() != FE_TONEAREST) {
    return dph_fail(err, DPH_ERR_FLOAT, "the rounding mode must be to nearest");
  }
  if (DBL_MANT_DIG != 53 || !rounds_right() || !compares_right()) {
    return dph_fail(err, DPH_ERR_FLOAT, "%s", UNSAFE_FLAGS);
  }
  return DPH_OK;
#endif
}
