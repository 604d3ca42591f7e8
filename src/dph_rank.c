/* Successive exponential mechanisms by buckets of gaps; see dph_rank.h. */
#include "dph_rank.h"

#include "dph_bucket.h"
#include "dph_noise.h"

typedef struct {
  dph_gap gap; /* to the best score of all */
  uint32_t index;
} item;

/* Items by increasing gap. live is a Fenwick tree over their places: live[i], i from
 * 1, counts the items left among the last (i & -i) of the first i. */
typedef struct {
  item *items, *spare;
  uint32_t *live;
  size_t m;
} ranking;

dph_status dph_choice_check(const dph_choice *choice, dph_error *err) {
  if (choice->m == 0 || choice->m > INT32_MAX) {
    return dph_fail(err, DPH_ERR_ARGUMENT, "nothing, or too much, to choose from");
  }
  if (choice->s == 0 || choice->s > choice->m) {
    return dph_fail(err, DPH_ERR_ARGUMENT, "more is to be chosen than there is");
  }
  if (choice->k < 0 || choice->k > DPH_RANK_MAX_K) {
    return dph_fail(err, DPH_ERR_ARGUMENT, "the scale of a choice is out of range");
  }
  return DPH_OK;
}

/* ---- places and counts ------------------------------------------------------- */

/* Items left among the first `place`. */
static uint32_t count_before(const ranking *r, size_t place) {
  uint32_t count = 0;
  for (size_t i = place; i > 0; i &= i - 1) {
    count += r->live[i];
  }
  return count;
}

/* The place of the item with `before` items left before it. */
static size_t place_of(const ranking *r, uint32_t before) {
  size_t place = 0, step = 1;
  while (step <= r->m / 2) {
    step *= 2;
  }
  for (; step > 0; step /= 2) {
    if (place + step <= r->m && r->live[place + step] <= before) {
      place += step;
      before -= r->live[place];
    }
  }
  return place;
}

static void take_out(ranking *r, size_t place) {
  for (size_t i = place + 1; i <= r->m; i += i & (~i + 1)) {
    r->live[i]--;
  }
}

/* The first place at or after `from` whose gap is not below `gap`. */
static size_t first_not_below(const ranking *r, size_t from, dph_gap gap) {
  size_t low = from, high = r->m;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (dph_gap_less(r->items[middle].gap, gap)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* ---- sorting ----------------------------------------------------------------- */

static unsigned byte_of(dph_gap gap, int byte) {
  return (unsigned)((byte < 8 ? gap.lo >> (8 * byte) : gap.hi >> (8 * byte - 64)) & 0xff);
}

/* One stable pass of a radix sort, from items to spare, which change places. */
static void sort_pass(ranking *r, int byte) {
  size_t start[257] = {0};
  for (size_t i = 0; i < r->m; i++) {
    start[byte_of(r->items[i].gap, byte) + 1]++;
  }
  for (size_t b = 0; b < 256; b++) {
    start[b + 1] += start[b];
  }
  for (size_t i = 0; i < r->m; i++) {
    r->spare[start[byte_of(r->items[i].gap, byte)]++] = r->items[i];
  }
  item *sorted = r->spare;
  r->spare = r->items;
  r->items = sorted;
}

/* The smallest gap is 0, so a byte that is 0 in all gaps together needs no pass. */
static void rank_items(ranking *r, const dph_wide *score) {
  dph_wide best = score[0];
  dph_gap all = {0, 0};
  for (size_t i = 1; i < r->m; i++) {
    best = dph_wide_less(best, score[i]) ? score[i] : best;
  }
  for (size_t i = 0; i < r->m; i++) {
    r->items[i].gap = dph_wide_gap(best, score[i]);
    r->items[i].index = (uint32_t)i;
    all.hi |= r->items[i].gap.hi;
    all.lo |= r->items[i].gap.lo;
    r->live[i + 1] = (uint32_t)((i + 1) & (~(i + 1) + 1));
  }
  for (int byte = 0; byte < 16; byte++) {
    if (byte_of(all, byte) != 0) {
      sort_pass(r, byte);
    }
  }
}

static void ranking_free(ranking *r) {
  dph_free(r->items);
  dph_free(r->spare);
  dph_free(r->live);
}

static dph_status ranking_make(const dph_choice *choice, ranking *r, dph_error *err) {
  void *items = NULL, *spare = NULL, *live = NULL;
  r->m = choice->m;
  dph_status status = dph_alloc(&items, r->m, sizeof(item), err);
  if (status == DPH_OK) {
    status = dph_alloc(&spare, r->m, sizeof(item), err);
  }
  if (status == DPH_OK) {
    status = dph_alloc(&live, r->m + 1, sizeof(uint32_t), err);
  }
  r->items = (item *)items;
  r->spare = (item *)spare;
  r->live = (uint32_t *)live;
  if (status == DPH_OK) {
    rank_items(r, choice->score);
  } else {
    ranking_free(r);
  }
  return status;
}

/* ---- draws ------------------------------------------------------------------- */

/* before[j]: items left ahead of bucket j; counts of the buckets from the best one
 * left on, whose gap is `base`. */
static void fill_buckets(const ranking *r, dph_gap base, int k, uint32_t *before,
                         uint32_t *count) {
  size_t edge = first_not_below(r, 0, base);
  dph_gap from = base;
  before[0] = count_before(r, edge);
  for (size_t j = 0; j + 1 < DPH_BUCKETS; j++) {
    from = dph_gap_add(from, UINT64_C(1) << k);
    edge = first_not_below(r, edge, from);
    before[j + 1] = count_before(r, edge);
    count[j] = before[j + 1] - before[j];
  }
  count[DPH_BUCKETS - 1] = count_before(r, r->m) - before[DPH_BUCKETS - 1];
}

static uint32_t draw(dph_rng *rng, ranking *r, const dph_powers *powers, int k) {
  uint32_t before[DPH_BUCKETS], count[DPH_BUCKETS];
  const dph_gap base = r->items[place_of(r, 0)].gap;
  fill_buckets(r, base, k, before, count);
  for (;;) {
    const size_t j = dph_bucket_choose(rng, powers, count);
    const uint32_t rank = before[j] + (uint32_t)dph_rng_below(rng, count[j]);
    const size_t place = place_of(r, rank);
    const dph_gap from = dph_gap_add(base, (uint64_t)j << k);
    const dph_gap rest = dph_gap_minus(r->items[place].gap, from);
    if (dph_bernoulli_exp(rng, dph_gap_clamp(rest), k)) {
      take_out(r, place);
      return r->items[place].index;
    }
  }
}

dph_status dph_rank_top(dph_rng *rng, const dph_choice *choice, uint32_t *chosen,
                        const dph_poll *poll, dph_error *err) {
  ranking r;
  dph_powers powers;
  DPH_TRY(dph_choice_check(choice, err));
  DPH_TRY(ranking_make(choice, &r, err));
  dph_powers_make(&powers);
  dph_status status = DPH_OK;
  for (size_t i = 0; i < choice->s && status == DPH_OK; i++) {
    chosen[i] = draw(rng, &r, &powers, choice->k);
    status = dph_check_poll(poll, err);
  }
  ranking_free(&r);
  return status;
}
