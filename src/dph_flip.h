/* Two selections that are purely private but NOT of bounded range, s times without
 * replacement, exact on wide integer scores (contract: dph_choice of dph_rank.h).
 *
 * dph_flip_top: permute-and-flip. In each round the items left are visited in random
 * order; item i is taken with probability exp(-gap_i / 2^k), gap_i its distance from
 * the best one left, and the first taken wins. Same law as the largest of score_i plus
 * independent exponential noise of mean 2^k. If one record moves every score by at
 * most D, a round is (2 D / 2^k)-DP (McKenna and Sheldon 2020). A gap is clamped at
 * 2^63, as if the scores were cut there below the best one: that moves no score by more
 * than a record does, and concerns items that are taken once in exp(2^23) visits.
 *
 * dph_noisy_top: the largest of score_i plus fresh discrete Laplace noise of scale 2^k,
 * ties to the lower index. A round is (2 D / 2^k)-DP: given the other items' noise, i
 * wins if and only if its noise reaches a whole number, which a record moves by at most
 * 2 D, and P(noise >= t) / P(noise >= t + 1) <= exp(1 / 2^k) for every whole t.
 *
 * Time: up to s m draws; it depends on the scores. */
#ifndef DPH_FLIP_H_INCLUDED
#define DPH_FLIP_H_INCLUDED

#include "dph_rank.h"

dph_status dph_flip_top(dph_rng *rng, const dph_choice *choice, uint32_t *chosen,
                        const dph_poll *poll, dph_error *err);

dph_status dph_noisy_top(dph_rng *rng, const dph_choice *choice, uint32_t *chosen,
                         const dph_poll *poll, dph_error *err);

#endif
