/* Choice among buckets with weights count[j] e^-j, j = 0, ..., 64.
 *
 * Fixed point with 256 bits below the point and 32 above, in 32-bit limbs, lowest
 * first: no floating point. e^-1 = 1 - (1 - (1 - ...)/3)/2)/1 by Horner's rule, 60
 * steps, each of which divides the error it inherits by n and adds a cut of at most one
 * unit of 2^-256: below 4 units together, the rest of the series being below 2^-270. A
 * power is the product of the last one and e^-1, with one more cut. Relative to
 * e^-64 > 2^-93 all errors together are below 2^-155.
 * Bucket j is chosen with probability
 *   count[j] power[j] / sum over i of count[i] power[i],
 * exactly: a uniform number below the sum, by rejection, and subtraction of weights. So
 * the log of a probability is off by less than 2^-150: a difference in epsilon, not in
 * delta, far below the margin of 2^-50 by which the callers round their grids.
 * count[0] must be positive and the sum of the counts below 2^32. */
#ifndef DPH_BUCKET_H_INCLUDED
#define DPH_BUCKET_H_INCLUDED

#include "dph_rng.h"

#define DPH_BUCKETS 65
#define DPH_LIMBS 9

typedef struct {
  uint32_t power[DPH_BUCKETS][DPH_LIMBS];
} dph_powers;

void dph_powers_make(dph_powers *powers);

size_t dph_bucket_choose(dph_rng *rng, const dph_powers *powers,
                         const uint32_t count[DPH_BUCKETS]);

#endif
