#include "dph_noise.h"

#include "dph_base.h"

/* Bernoulli(exp(-g)), 0 <= g <= 1, after Forsythe and von Neumann.
 *
 * Let U1, U2, ... be uniform on (0, 1) and N the largest n with
 * g > U1 > U2 > ... > Un. Then P(N >= n) = g^n / n!, hence
 * P(N even) = sum over n of (-1)^n g^n / n! = exp(-g): the answer is the
 * parity of N, no exponential is computed.
 *
 * A uniform is an infinite string of bits of which only a prefix of 32-bit
 * words is known. Comparing V with U reveals words of both until two differ;
 * if V < U, V's known words are U's up to that one, where V's own stands, and
 * the rest of V is still unknown and uniform. So one array serves the run. */
#define RUN_WORDS 16

typedef struct {
  uint32_t word[RUN_WORDS];
  int known;
} lazy_uniform;

/* Draws V; if V < U replaces U by V and returns 1. */
static int next_below(dph_rng *rng, lazy_uniform *u) {
  for (int i = 0; i < RUN_WORDS; i++) {
    if (i == u->known) {
      u->word[i] = dph_rng_u32(rng);
      u->known = i + 1;
    }
    const uint32_t v = dph_rng_u32(rng);
    if (v > u->word[i]) {
      return 0;
    }
    if (v < u->word[i]) {
      u->word[i] = v;
      u->known = i + 1;
      return 1;
    }
  }
  return 0;
}

/* The parity of N, given that U1 < g is in u. */
static int run_is_even(dph_rng *rng, lazy_uniform *u) {
  int even = 0;
  while (next_below(rng, u)) {
    even = !even;
  }
  return even;
}

/* g = 1: U1 < 1 always. */
static int bernoulli_exp_one(dph_rng *rng) {
  lazy_uniform u;
  u.word[0] = dph_rng_u32(rng);
  u.known = 1;
  return run_is_even(rng, &u);
}

/* g = (hi * 2^64 + lo) / 2^128. Here g's own words are all known (zeros after
 * the fourth), so that four equal words mean U1 >= g. */
static int bernoulli_exp_fraction(dph_rng *rng, uint64_t hi, uint64_t lo) {
  const uint32_t g[4] = {(uint32_t)(hi >> 32), (uint32_t)hi, (uint32_t)(lo >> 32),
                         (uint32_t)lo};
  lazy_uniform u;
  for (int i = 0; i < 4; i++) {
    u.word[i] = dph_rng_u32(rng);
    u.known = i + 1;
    if (u.word[i] > g[i]) {
      return 1;
    }
    if (u.word[i] < g[i]) {
      return run_is_even(rng, &u);
    }
  }
  return 1;
}

/* exp(-(whole + fraction)) = exp(-1)^whole exp(-fraction), independent. */
static int bernoulli_exp_wide(dph_rng *rng, uint64_t whole, uint64_t hi, uint64_t lo) {
  for (; whole > 0; whole--) {
    if (!bernoulli_exp_one(rng)) {
      return 0;
    }
  }
  return (hi | lo) == 0 || bernoulli_exp_fraction(rng, hi, lo);
}

int dph_bernoulli_exp(dph_rng *rng, uint64_t num, int k) {
  if (k <= 0) {
    return bernoulli_exp_wide(rng, num, 0, 0);
  }
  return bernoulli_exp_wide(rng, num >> k, num << (64 - k), 0);
}

static uint64_t uniform_bits(dph_rng *rng, int k) {
  if (k == 0) {
    return 0;
  }
  return k <= 32 ? (uint64_t)dph_rng_u32(rng) >> (32 - k) : dph_rng_u64(rng) >> (64 - k);
}

/* Write the magnitude as V 2^k + U with 0 <= U < 2^k:
 * exp(-magnitude / 2^k) = exp(-V) exp(-U / 2^k), so V and U are independent,
 * V geometric (successes of exp(-1) before the first failure), U uniform bits
 * accepted with probability exp(-U / 2^k). A fair sign would give zero twice;
 * the negative zero is thrown back. V stops at 2^17, of probability
 * exp(-2^17), to stay inside 63 bits. */
int64_t dph_discrete_laplace(dph_rng *rng, int k) {
  for (;;) {
    uint64_t low, high = 0;
    do {
      low = uniform_bits(rng, k);
    } while (!dph_bernoulli_exp(rng, low, k));
    while (high < (UINT64_C(1) << 17) && bernoulli_exp_one(rng)) {
      high++;
    }
    const int64_t magnitude = (int64_t)((high << k) + low);
    const int negative = (int)(dph_rng_u32(rng) >> 31);
    if (!negative) {
      return magnitude;
    }
    if (magnitude != 0) {
      return -magnitude;
    }
  }
}

/* Bernoulli(exp(-gap^2 / 2^shift)), 1 <= shift <= 91: a dyadic exponent, whose
 * whole part and 128-bit fraction are split by shifts. The whole part must be
 * below 2^64. */
static int bernoulli_exp_square(dph_rng *rng, uint64_t gap, int shift) {
  uint64_t hi, lo;
  dph_mul_wide(gap, gap, &hi, &lo);
  if (shift < 64) {
    const int rest = 64 - shift;
    return bernoulli_exp_wide(rng, (hi << rest) | (lo >> shift), lo << rest, 0);
  }
  if (shift == 64) {
    return bernoulli_exp_wide(rng, hi, lo, 0);
  }
  const int more = shift - 64, rest = 64 - more;
  return bernoulli_exp_wide(rng, hi >> more, (hi << rest) | (lo >> more), lo << rest);
}

/* With y from the discrete Laplace law of scale s = 2^k, accept with
 * probability exp(-(|y| - s)^2 / (2 s^2)), since
 *   exp(-|y| / s) exp(-(|y| - s)^2 / (2 s^2)) = exp(-y^2 / (2 s^2)) exp(-1/2).
 * |y| - s stays below 2^(k + 18), so the exponent stays below 2^35. */
int64_t dph_discrete_gaussian(dph_rng *rng, int k) {
  const uint64_t scale = UINT64_C(1) << k;
  for (;;) {
    const int64_t y = dph_discrete_laplace(rng, k);
    const uint64_t size = y < 0 ? (uint64_t)0 - (uint64_t)y : (uint64_t)y;
    const uint64_t gap = size > scale ? size - scale : scale - size;
    if (bernoulli_exp_square(rng, gap, 2 * k + 1)) {
      return y;
    }
  }
}
