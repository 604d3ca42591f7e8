/* Exact integer noise. No floating point anywhere.
 *
 * Laws, for 0 <= k <= 45 and whole numbers x:
 *   dph_discrete_laplace   P(x) proportional to exp(-|x| / 2^k)
 *   dph_discrete_gaussian  P(x) proportional to exp(-x^2 / 2^(2k+1)), sigma = 2^k
 *   dph_bernoulli_exp      P(1) = exp(-num / 2^k), 0 <= k <= 63
 *
 * The laws are exact given uniform bits, up to events of probability below
 * 2^-250 (a comparison undecided after 256 bits; a magnitude of 20 standard
 * deviations, or 2^17 scales). The time of a draw depends on its value. */
#ifndef DPH_NOISE_H_INCLUDED
#define DPH_NOISE_H_INCLUDED

#include "dph_rng.h"

#define DPH_NOISE_MAX_K 45

int64_t dph_discrete_laplace(dph_rng *rng, int k);
int64_t dph_discrete_gaussian(dph_rng *rng, int k);
int dph_bernoulli_exp(dph_rng *rng, uint64_t num, int k);

#endif
