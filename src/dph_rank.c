/* Exponential mechanisms by buckets of gaps; see dph_rank.h. */
#include "dph_rank.h"

#include <string.h>

#include "dph_bucket.h"
#include "dph_noise.h"

#define LAST (DPH_BUCKETS - 1)
#define STRETCH 128

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
  if (choice->m != choice->stored &&
      (choice->m % 2 != 0 || choice->m / 2 != choice->stored)) {
    return dph_fail(err, DPH_ERR_ARGUMENT, "a choice is among all or twice the values");
  }
  if (choice->s == 0 || choice->s > choice->m) {
    return dph_fail(err, DPH_ERR_ARGUMENT, "more is to be chosen than there is");
  }
  if (choice->k < 0 || choice->k > DPH_RANK_MAX_K) {
    return dph_fail(err, DPH_ERR_ARGUMENT, "the scale of a choice is out of range");
  }
  return DPH_OK;
}

static dph_wide best_score(const dph_choice *choice) {
  double best = choice->value[0];
  for (size_t i = 1; i < choice->m; i++) {
    const double here = dph_choice_value(choice, i);
    best = here > best ? here : best;
  }
  return dph_scale(best, &choice->by);
}

/* Is the item of this gap, in bucket j of those from `base` on, taken? */
static int accepts(dph_rng *rng, dph_gap gap, dph_gap base, size_t j, int k) {
  const dph_gap from = dph_gap_add(base, (uint64_t)j << k);
  return dph_bernoulli_exp(rng, dph_gap_clamp(dph_gap_minus(gap, from)), k);
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
static void rank_items(ranking *r, const dph_choice *choice) {
  const dph_wide best = best_score(choice);
  dph_gap all = {0, 0};
  for (size_t i = 0; i < r->m; i++) {
    r->items[i].gap = dph_wide_gap(best, dph_choice_score(choice, i));
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
    rank_items(r, choice);
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
  for (size_t j = 0; j < LAST; j++) {
    from = dph_gap_add(from, UINT64_C(1) << k);
    edge = first_not_below(r, edge, from);
    before[j + 1] = count_before(r, edge);
    count[j] = before[j + 1] - before[j];
  }
  count[LAST] = count_before(r, r->m) - before[LAST];
}

static uint32_t draw(dph_rng *rng, ranking *r, const dph_powers *powers, int k) {
  uint32_t before[DPH_BUCKETS], count[DPH_BUCKETS];
  const dph_gap base = r->items[place_of(r, 0)].gap;
  fill_buckets(r, base, k, before, count);
  for (;;) {
    const size_t j = dph_bucket_choose(rng, powers, count);
    const uint32_t rank = before[j] + (uint32_t)dph_rng_below(rng, count[j]);
    const size_t place = place_of(r, rank);
    if (accepts(rng, r->items[place].gap, base, j, k)) {
      take_out(r, place);
      return r->items[place].index;
    }
  }
}

static dph_status draw_all(dph_rng *rng, const dph_choice *choice, uint32_t *chosen,
                           const dph_poll *poll, dph_error *err) {
  ranking r;
  dph_powers powers;
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

/* ---- one draw, without an order ------------------------------------------------ */

/* 64 2^k is at most 2^46. */
static unsigned char bucket_of(dph_gap gap, int k) {
  const uint64_t whole = gap.hi != 0 ? LAST : gap.lo >> k;
  return (unsigned char)(whole < LAST ? whole : LAST);
}

/* Items of bucket j among a stretch of them. */
DPH_KERNEL static uint32_t count_stretch(const unsigned char *bucket, unsigned char j) {
  unsigned char count = 0;
  for (size_t i = 0; i < STRETCH; i++) {
    count = (unsigned char)(count + (bucket[i] == j));
  }
  return count;
}

/* The item with `rank` others of bucket j before it; there is one. The array ends in a
 * stretch that belongs to no bucket. */
static uint32_t find(const unsigned char *bucket, size_t j, uint64_t rank) {
  const unsigned char own = (unsigned char)j;
  uint32_t i = 0;
  for (uint32_t here; (here = count_stretch(bucket + i, own)) <= rank; i += STRETCH) {
    rank -= here;
  }
  for (;; i++) {
    if (bucket[i] == own && rank-- == 0) {
      return i;
    }
  }
}

static dph_status draw_one(dph_rng *rng, const dph_choice *choice, uint32_t *chosen,
                           dph_error *err) {
  const dph_wide best = best_score(choice);
  const dph_gap zero = {0, 0};
  uint32_t count[DPH_BUCKETS] = {0};
  dph_powers powers;
  void *memory = NULL;
  DPH_TRY(dph_alloc(&memory, choice->m + STRETCH, 1, err));
  unsigned char *bucket = (unsigned char *)memory;
  memset(bucket + choice->m, DPH_BUCKETS, STRETCH);
  for (size_t i = 0; i < choice->m; i++) {
    bucket[i] = bucket_of(dph_wide_gap(best, dph_choice_score(choice, i)), choice->k);
    count[bucket[i]]++;
  }
  dph_powers_make(&powers);
  for (int taken = 0; !taken;) {
    const size_t j = dph_bucket_choose(rng, &powers, count);
    *chosen = find(bucket, j, dph_rng_below(rng, count[j]));
    const dph_gap gap = dph_wide_gap(best, dph_choice_score(choice, *chosen));
    taken = accepts(rng, gap, zero, j, choice->k);
  }
  dph_free(memory);
  return DPH_OK;
}

dph_status dph_rank_top(dph_rng *rng, const dph_choice *choice, uint32_t *chosen,
                        const dph_poll *poll, dph_error *err) {
  DPH_TRY(dph_choice_check(choice, err));
  return choice->s > 1 ? draw_all(rng, choice, chosen, poll, err)
                       : draw_one(rng, choice, chosen, err);
}
