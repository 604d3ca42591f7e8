/* Buckets of geometric weight; see dph_bucket.h. */
#include "dph_bucket.h"

#define ABOVE (DPH_LIMBS - 1) /* the limb above the point */
#define TERMS 60

static void set_whole(uint32_t *x, uint32_t whole) {
  for (int i = 0; i < ABOVE; i++) {
    x[i] = 0;
  }
  x[ABOVE] = whole;
}

/* x = x / n, cut off. */
static void divide(uint32_t *x, uint32_t n) {
  uint64_t rest = 0;
  for (int i = DPH_LIMBS - 1; i >= 0; i--) {
    const uint64_t here = (rest << 32) | x[i];
    x[i] = (uint32_t)(here / n);
    rest = here % n;
  }
}

/* x -= y for x >= y. */
static void subtract(uint32_t *x, const uint32_t *y) {
  uint32_t borrow = 0;
  for (int i = 0; i < DPH_LIMBS; i++) {
    const uint64_t take = (uint64_t)y[i] + borrow;
    borrow = x[i] < take;
    x[i] = (uint32_t)((uint64_t)x[i] - take);
  }
}

/* x += n y; the sum must stay below 2^32. */
static void add_multiple(uint32_t *x, const uint32_t *y, uint32_t n) {
  uint64_t carry = 0;
  for (int i = 0; i < DPH_LIMBS; i++) {
    carry += (uint64_t)n * y[i] + x[i];
    x[i] = (uint32_t)carry;
    carry >>= 32;
  }
}

static int is_less(const uint32_t *x, const uint32_t *y) {
  for (int i = DPH_LIMBS - 1; i >= 0; i--) {
    if (x[i] != y[i]) {
      return x[i] < y[i];
    }
  }
  return 0;
}

/* out = a b, cut off, for a and b below one. */
static void multiply(const uint32_t *a, const uint32_t *b, uint32_t *out) {
  uint32_t product[2 * ABOVE] = {0};
  for (int i = 0; i < ABOVE; i++) {
    uint64_t carry = 0;
    for (int j = 0; j < ABOVE; j++) {
      carry += (uint64_t)a[i] * b[j] + product[i + j];
      product[i + j] = (uint32_t)carry;
      carry >>= 32;
    }
    product[i + ABOVE] = (uint32_t)carry;
  }
  for (int i = 0; i < ABOVE; i++) {
    out[i] = product[i + ABOVE];
  }
  out[ABOVE] = 0;
}

void dph_powers_make(dph_powers *powers) {
  uint32_t e[DPH_LIMBS];
  set_whole(e, 1);
  for (uint32_t n = TERMS; n > 0; n--) {
    uint32_t next[DPH_LIMBS];
    divide(e, n);
    set_whole(next, 1);
    subtract(next, e);
    for (int i = 0; i < DPH_LIMBS; i++) {
      e[i] = next[i];
    }
  }
  set_whole(powers->power[0], 1);
  for (int i = 0; i < DPH_LIMBS; i++) {
    powers->power[1][i] = e[i];
  }
  for (int j = 2; j < DPH_BUCKETS; j++) {
    multiply(powers->power[j - 1], e, powers->power[j]);
  }
}

/* A uniform number below `total`, whose limb above the point is not zero. */
static void uniform_below(dph_rng *rng, const uint32_t *total, uint32_t *u) {
  uint32_t mask = total[ABOVE];
  for (int shift = 1; shift < 32; shift *= 2) {
    mask |= mask >> shift;
  }
  do {
    for (int i = 0; i < DPH_LIMBS; i++) {
      u[i] = dph_rng_u32(rng);
    }
    u[ABOVE] &= mask;
  } while (!is_less(u, total));
}

size_t dph_bucket_choose(dph_rng *rng, const dph_powers *powers,
                         const uint32_t count[DPH_BUCKETS]) {
  uint32_t total[DPH_LIMBS], u[DPH_LIMBS], weight[DPH_LIMBS];
  set_whole(total, 0);
  for (size_t j = 0; j < DPH_BUCKETS; j++) {
    add_multiple(total, powers->power[j], count[j]);
  }
  uniform_below(rng, total, u);
  for (size_t j = 0; j + 1 < DPH_BUCKETS; j++) {
    set_whole(weight, 0);
    add_multiple(weight, powers->power[j], count[j]);
    if (is_less(u, weight)) {
      return j;
    }
    subtract(u, weight);
  }
  return DPH_BUCKETS - 1;
}
