/* Permute-and-flip and Laplace noisy max; see dph_flip.h. */
#include "dph_flip.h"

#include "dph_noise.h"

/* The place in left[0 .. n - 1] of the winner of one round. */
typedef size_t round_rule(dph_rng *rng, const dph_choice *choice, uint32_t *left,
                          size_t n);

static dph_wide best_score(const dph_choice *choice, const uint32_t *left, size_t n) {
  double best = dph_choice_value(choice, left[0]);
  for (size_t i = 1; i < n; i++) {
    const double here = dph_choice_value(choice, left[i]);
    best = here > best ? here : best;
  }
  return dph_scale(best, &choice->by);
}

/* The best item is taken for sure when its turn comes, so a round ends. */
static size_t flip_round(dph_rng *rng, const dph_choice *choice, uint32_t *left,
                         size_t n) {
  const dph_wide best = best_score(choice, left, n);
  for (size_t i = 0;; i++) {
    const size_t j = i + (size_t)dph_rng_below(rng, (uint64_t)(n - i));
    const uint32_t here = left[j];
    left[j] = left[i];
    left[i] = here;
    const dph_gap gap = dph_wide_gap(best, dph_choice_score(choice, here));
    if (dph_bernoulli_exp(rng, dph_gap_clamp(gap), choice->k)) {
      return i;
    }
  }
}

static size_t noisy_round(dph_rng *rng, const dph_choice *choice, uint32_t *left,
                          size_t n) {
  dph_wide best = {0, 0};
  size_t winner = 0;
  for (size_t i = 0; i < n; i++) {
    const int64_t noise = dph_discrete_laplace(rng, choice->k);
    const dph_wide here = dph_wide_add(dph_choice_score(choice, left[i]), noise);
    const int lower = !dph_wide_less(here, best) && left[i] < left[winner];
    if (i == 0 || dph_wide_less(best, here) || lower) {
      best = here;
      winner = i;
    }
  }
  return winner;
}

static dph_status rounds(round_rule *rule, dph_rng *rng, const dph_choice *choice,
                         uint32_t *chosen, const dph_poll *poll, dph_error *err) {
  void *memory = NULL;
  DPH_TRY(dph_choice_check(choice, err));
  DPH_TRY(dph_alloc(&memory, choice->m, sizeof(uint32_t), err));
  uint32_t *left = (uint32_t *)memory;
  dph_status status = DPH_OK;
  for (size_t i = 0; i < choice->m; i++) {
    left[i] = (uint32_t)i;
  }
  for (size_t i = 0; i < choice->s && status == DPH_OK; i++) {
    const size_t n = choice->m - i;
    const size_t winner = rule(rng, choice, left, n);
    chosen[i] = left[winner];
    left[winner] = left[n - 1];
    status = dph_check_poll(poll, err);
  }
  dph_free(memory);
  return status;
}

dph_status dph_flip_top(dph_rng *rng, const dph_choice *choice, uint32_t *chosen,
                        const dph_poll *poll, dph_error *err) {
  return rounds(flip_round, rng, choice, chosen, poll, err);
}

dph_status dph_noisy_top(dph_rng *rng, const dph_choice *choice, uint32_t *chosen,
                         const dph_poll *poll, dph_error *err) {
  return rounds(noisy_round, rng, choice, chosen, poll, err);
}
