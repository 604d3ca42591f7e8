/* The exponential mechanism on integer scores, exact.
 *
 * P(i) proportional to exp(score_i / 2^k), 0 <= k <= 63, i = 0, ..., n - 1.
 * If one record moves every score by at most s, the choice is
 * (2 s / 2^k)-DP with bounded range 2 s / 2^k; if all scores can only move the
 * same way, s / 2^k.
 *
 * Law: write the gap max - score_i as (j + r) 2^k with j = 0, ..., 63 whole and r < 1, or
 * j = 64 and r >= 0. Candidate i is proposed with probability proportional to 2^-j (its
 * bucket by integer weights, then its rank in the bucket) and kept with probability
 * (2/e)^j exp(-r), both exact; repeated until one is. A gap is taken modulo 2^64, where
 * it is exact for any two int64. Three walks over the scores or so; how many proposals
 * are made depends on them: e of them at most, on average, get as far as such a walk.
 * n = 0 is an argument error. */
#ifndef DPH_CHOOSE_H_INCLUDED
#define DPH_CHOOSE_H_INCLUDED

#include "dph_base.h"
#include "dph_rng.h"

dph_status dph_exponential_mechanism(dph_rng *rng, const int64_t *score, size_t n,
                                     int k, size_t *chosen, dph_error *err);

#endif
