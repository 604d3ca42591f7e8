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

/* Bernoulli(exp(-a b / 2^shift)), 1 <= shift <= 91: a dyadic exponent, whose whole
 * part and 128-bit fraction are split by shifts. The whole part must be below 2^64. */
static int bernoulli_exp_product(dph_rng *rng, uint64_t a, uint64_t b, int shift) {
  uint64_t hi, lo;
  dph_mul_wide(a, b, &hi, &lo);
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

/* Row v: the first 256 bits of sum(exp(-w^2 / 2), w <= v) / sum(exp(-w^2 / 2), w >= 0),
 * highest word first. The last row lacks less than 2^-256 to one. */
#define STEPS 19
#define WORDS 8

static const uint32_t half_normal[STEPS][WORDS] = {
    {0x92025b19u, 0x482ce72bu, 0xd40241feu, 0x3d8503e0u,
     0xa90d8b16u, 0x3a7013a0u, 0x107b4728u, 0x53e41665u},
    {0xea917985u, 0x47a0ef93u, 0xd55d4ff9u, 0xab842149u,
     0xf683a406u, 0x378219adu, 0x5454e189u, 0x748261d8u},
    {0xfe5415c6u, 0xe9da4baeu, 0xeabab39cu, 0x56d419beu,
     0x38e03915u, 0x98c1226cu, 0xf905de3fu, 0x0a36d09du},
    {0xfff35233u, 0x19908c11u, 0xd937bd03u, 0x927c2f09u,
     0x5527786au, 0x3cee4befu, 0x63131e40u, 0x73b96c3fu},
    {0xffffdc31u, 0xb8ef5942u, 0x488c43f4u, 0x219a48e8u,
     0xd9e24cd1u, 0x2330590eu, 0x4ea317abu, 0xcaf86381u},
    {0xffffffdau, 0xa2d72344u, 0xf06d574fu, 0x25e26ea2u,
     0xec37a2abu, 0xa678cdd3u, 0x39aaa050u, 0x44453feeu},
    {0xffffffffu, 0xf1a20da4u, 0x272e3924u, 0x79b0e3d6u,
     0x7d2ebf8fu, 0xa0204b66u, 0x02c8f790u, 0xd9225265u},
    {0xffffffffu, 0xfffdf76cu, 0x4ac9d6efu, 0x19667473u,
     0xd18eea62u, 0xa41cce87u, 0xfd974de9u, 0x70697b33u},
    {0xffffffffu, 0xffffffe4u, 0xe341e1b0u, 0xf4764936u,
     0xe37cd09au, 0x5f8a1551u, 0x1cd14cf6u, 0xa68a64f8u},
    {0xffffffffu, 0xffffffffu, 0xff7b01deu, 0xdd7a579cu,
     0xa89dc75eu, 0x2c0bf374u, 0x357abb30u, 0xb436397du},
    {0xffffffffu, 0xffffffffu, 0xffffff10u, 0x0072148cu,
     0x64e7b694u, 0x974e5607u, 0xed8aea0bu, 0xfac4c797u},
    {0xffffffffu, 0xffffffffu, 0xffffffffu, 0xff60ab69u,
     0xa1298487u, 0x82cfed83u, 0xf007059cu, 0x71137169u},
    {0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffd9u,
     0x163aa7dfu, 0xb77b6057u, 0xe5b7aff2u, 0x1103343eu},
    {0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu,
     0xfffc80f6u, 0xbc17fffeu, 0x80136cfbu, 0x470d0178u},
    {0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu,
     0xffffffffu, 0xe26a9bf5u, 0x5655bf13u, 0x21ed936bu},
    {0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu,
     0xffffffffu, 0xffffffa3u, 0xe952cea6u, 0x66182215u},
    {0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu,
     0xffffffffu, 0xffffffffu, 0xffff968bu, 0x8ca5a58bu},
    {0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu,
     0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffd3930cu},
    {0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu,
     0xffffffffu, 0xffffffffu, 0xffffffffu, 0xffffffffu}};

/* v = 0, 1, ..., STEPS with probability proportional to exp(-v^2 / 2): the first row
 * above a uniform number whose words are drawn when they are needed. */
static uint64_t half_normal_whole(dph_rng *rng) {
  uint32_t word[WORDS];
  int known = 0;
  for (unsigned v = 0; v < STEPS; v++) {
    for (int i = 0; i < WORDS; i++) {
      if (i == known) {
        word[i] = dph_rng_u32(rng);
        known++;
      }
      if (word[i] < half_normal[v][i]) {
        return v;
      }
      if (word[i] > half_normal[v][i]) {
        break;
      }
    }
  }
  return STEPS;
}

/* Write the magnitude as (v + u) 2^k with v whole and u = low / 2^k below one:
 * exp(-(v + u)^2 / 2) = exp(-v^2 / 2) exp(-u (2 v + u) / 2), so v is half normal,
 * low uniform bits, and the pair is accepted with probability exp(-u (2 v + u) / 2).
 * A fair sign, from a bit that low does not use; the negative zero is thrown back. */
int64_t dph_discrete_gaussian(dph_rng *rng, int k) {
  for (;;) {
    const uint64_t v = half_normal_whole(rng);
    const uint64_t bits = dph_rng_u64(rng);
    const uint64_t low = k > 0 ? bits >> (64 - k) : 0;
    const int64_t magnitude = (int64_t)((v << k) + low);
    const int negative = (int)(bits & 1);
    if ((negative && magnitude == 0) ||
        !bernoulli_exp_product(rng, low, (v << (k + 1)) + low, 2 * k + 1)) {
      continue;
    }
    return negative ? -magnitude : magnitude;
  }
}
