/* The exponential mechanism on wide integer scores, s times without replacement.
 *
 * score_i = round(value_i M / 2^p), clamped (dph_scale.h): it never falls where value_i
 * rises. Law: P(i) proportional to exp(score_i / 2^k) over the items that are left,
 * 0 <= k <= 40; the sequence is Plackett-Luce, the law of the s largest of score_i
 * plus independent Gumbel noise of scale 2^k. If one record moves every score by at
 * most D, each choice has bounded range 2 D / 2^k given the earlier ones: its
 * log-probabilities are score_i / 2^k less one common term.
 *
 * How: for s > 1 the items are sorted once. In each draw an item's gap to the best one
 * left is (j + r) 2^k with j whole and 0 <= r < 1; items with the same j < 64 are a bucket
 * (a range of the sorted array), all others the last one, j = 64, with r >= 0. A bucket is
 * drawn with weight count e^-j (dph_bucket.h), a uniform item of it is accepted with
 * probability exp(-r), else the draw begins again: fewer than 3 tries are expected,
 * whatever the scores. In the last bucket r 2^k is clamped at 2^63, as if scores were
 * cut at a fixed distance c below the best one left: max(score_i, best - c) moves by at
 * most D, too, so the bounded range stands, and items below the cut have probabilities
 * below exp(-2^23). Time: sorting, then O(65 log m) a draw; for s = 1 a walk over the
 * items to count buckets and one over their numbers a try. It depends on the scores.
 * chosen[0], ..., chosen[s - 1]: in the order of selection, from 0.
 * 1 <= s <= m < 2^31. */
#ifndef DPH_RANK_H_INCLUDED
#define DPH_RANK_H_INCLUDED

#include "dph_rng.h"
#include "dph_scale.h"

#define DPH_RANK_MAX_K 40

/* A problem of choice: s of m scores at scale 2^k. The items after the first `stored`
 * ones, none or as many, have the negatives of their values. */
typedef struct {
  const double *value; /* stored, finite */
  size_t stored;
  dph_multiplier by;
  size_t m, s;
  int k;
} dph_choice;

static inline double dph_choice_value(const dph_choice *choice, size_t i) {
  return i < choice->stored ? choice->value[i] : -choice->value[i - choice->stored];
}

static inline dph_wide dph_choice_score(const dph_choice *choice, size_t i) {
  return dph_scale(dph_choice_value(choice, i), &choice->by);
}

dph_status dph_choice_check(const dph_choice *choice, dph_error *err);

dph_status dph_rank_top(dph_rng *rng, const dph_choice *choice, uint32_t *chosen,
                        const dph_poll *poll, dph_error *err);

#endif
