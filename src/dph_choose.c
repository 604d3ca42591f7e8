#include "dph_choose.h"

#include "dph_noise.h"

dph_status dph_exponential_mechanism(dph_rng *rng, const int64_t *score, size_t n,
                                     int k, size_t *chosen, dph_error *err) {
  if (n == 0) {
    return dph_fail(err, DPH_ERR_ARGUMENT, "there is nothing to choose from");
  }
  if (k < 0 || k > 63) {
    return dph_fail(err, DPH_ERR_ARGUMENT, "the scale of a choice is out of range");
  }
  int64_t best = score[0];
  for (size_t i = 1; i < n; i++) {
    best = score[i] > best ? score[i] : best;
  }
  for (;;) {
    const size_t i = (size_t)dph_rng_below(rng, (uint64_t)n);
    const uint64_t gap = (uint64_t)best - (uint64_t)score[i];
    if (dph_bernoulli_exp(rng, gap, k)) {
      *chosen = i;
      return DPH_OK;
    }
  }
}
