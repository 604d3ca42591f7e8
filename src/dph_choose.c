/* The exponential mechanism by buckets of gaps; see dph_choose.h. */
#include "dph_choose.h"

#include "dph_noise.h"

#define LAST 64 /* the bucket of all gaps of 64 2^k and more */

/* hi 2^64 + lo */
typedef struct {
  uint64_t hi, lo;
} wide;

typedef struct {
  const int64_t *score;
  size_t n;
  int64_t best;
  int k;
  uint64_t count[LAST + 1];
  wide total; /* sum of count[j] 2^(LAST - j) */
} choice;

static uint64_t gap_of(const choice *c, size_t i) {
  return (uint64_t)c->best - (uint64_t)c->score[i];
}

static size_t bucket_of(const choice *c, size_t i) {
  const uint64_t whole = gap_of(c, i) >> c->k;
  return whole < LAST ? (size_t)whole : LAST;
}

static wide weight_of(const choice *c, size_t j) {
  const unsigned shift = (unsigned)(LAST - j);
  wide out = {c->count[j], 0};
  if (shift < 64) {
    out.hi = shift > 0 ? c->count[j] >> (64 - shift) : 0;
    out.lo = c->count[j] << shift;
  }
  return out;
}

static int is_less(wide a, wide b) { return a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo); }

static void count_buckets(choice *c) {
  c->best = c->score[0];
  for (size_t i = 1; i < c->n; i++) {
    c->best = c->score[i] > c->best ? c->score[i] : c->best;
  }
  for (size_t j = 0; j <= LAST; j++) {
    c->count[j] = 0;
  }
  for (size_t i = 0; i < c->n; i++) {
    c->count[bucket_of(c, i)] += 1;
  }
  c->total.hi = 0;
  c->total.lo = 0;
  for (size_t j = 0; j <= LAST; j++) {
    const wide weight = weight_of(c, j);
    c->total.lo += weight.lo;
    c->total.hi += weight.hi + (c->total.lo < weight.lo);
  }
}

/* Uniform below a number of at least 2^64, by rejection. */
static wide uniform_below(dph_rng *rng, wide total) {
  uint64_t mask = total.hi;
  wide u;
  for (int shift = 1; shift < 64; shift *= 2) {
    mask |= mask >> shift;
  }
  do {
    u.lo = dph_rng_u64(rng);
    u.hi = dph_rng_u64(rng) & mask;
  } while (!is_less(u, total));
  return u;
}

/* A bucket with probability proportional to count 2^-j, and the rank of one of its
 * candidates, uniform: what is left of a uniform number, without its last bits. */
static size_t propose(dph_rng *rng, const choice *c, uint64_t *rank) {
  wide u = uniform_below(rng, c->total);
  size_t j = 0;
  for (wide weight = weight_of(c, 0); !is_less(u, weight); weight = weight_of(c, j)) {
    u.hi -= weight.hi + (u.lo < weight.lo);
    u.lo -= weight.lo;
    j++;
  }
  *rank = u.hi;
  if (j > 0) {
    *rank = (j < 64 ? u.hi << j : 0) | (u.lo >> (LAST - j));
  }
  return j;
}

/* Bernoulli(2 / e). With U1, U2, ... uniform and N the largest n with U1 > ... > Un,
 * P(N >= n) = 1 / n!, so that P(N even, N >= 2) = 1/e, and P(N >= 2) = 1/2. */
static int bernoulli_two_over_e(dph_rng *rng) {
  uint64_t run = 2;
  while (dph_rng_below(rng, run + 1) == 0) {
    run++;
  }
  return run % 2 == 0;
}

static int keeps_bucket(dph_rng *rng, size_t j) {
  while (j > 0 && bernoulli_two_over_e(rng)) {
    j--;
  }
  return j == 0;
}

/* The candidate with `rank` others of bucket j before it. */
static size_t find(const choice *c, size_t j, uint64_t rank) {
  size_t i = 0;
  for (;; i++) {
    if (bucket_of(c, i) == j && rank-- == 0) {
      return i;
    }
  }
}

dph_status dph_exponential_mechanism(dph_rng *rng, const int64_t *score, size_t n,
                                     int k, size_t *chosen, dph_error *err) {
  choice c = {.score = score, .n = n, .k = k};
  if (n == 0) {
    return dph_fail(err, DPH_ERR_ARGUMENT, "there is nothing to choose from");
  }
  if (k < 0 || k > 63) {
    return dph_fail(err, DPH_ERR_ARGUMENT, "the scale of a choice is out of range");
  }
  count_buckets(&c);
  for (;;) {
    uint64_t rank;
    const size_t j = propose(rng, &c, &rank);
    if (!keeps_bucket(rng, j)) {
      continue;
    }
    const size_t i = find(&c, j, rank);
    const uint64_t rest = gap_of(&c, i) - ((uint64_t)j << k);
    if (dph_bernoulli_exp(rng, rest, k)) {
      *chosen = i;
      return DPH_OK;
    }
  }
}
