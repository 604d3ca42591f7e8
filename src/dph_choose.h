/* The exponential mechanism on integer scores, exact.
 *
 * P(i) proportional to exp(score_i / 2^k), 0 <= k <= 63, i = 0, ..., n - 1.
 * If one record moves every score by at most s, the choice is
 * (2 s / 2^k)-DP with bounded range 2 s / 2^k; if all scores can only move the
 * same way, s / 2^k.
 *
 * Law: a uniform index, accepted with probability
 * exp(-(max - score_i) / 2^k), repeated until one is. The gap is taken modulo
 * 2^64, where it is exact for any two int64. Expected trials
 * n / sum exp(-gap / 2^k) <= n; the time depends on the scores. n = 0 is an
 * argument error. */
#ifndef DPH_CHOOSE_H_INCLUDED
#define DPH_CHOOSE_H_INCLUDED

#include "dph_base.h"
#include "dph_rng.h"

dph_status dph_exponential_mechanism(dph_rng *rng, const int64_t *score, size_t n,
                                     int k, size_t *chosen, dph_error *err);

#endif
