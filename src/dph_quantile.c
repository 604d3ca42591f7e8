#include "dph_quantile.h"

#include "dph_choose.h"

#include <string.h>

#define CELL_SHIFT 20
#define SIGN_BIT (UINT64_C(1) << 63)
#define RANK_ONE (INT64_C(1) << 30)
#define PENALTY_MAX (INT64_C(1) << 60)
#define C_MAX 1048576.0
#define ROWS_MAX UINT64_C(4294967296)

#define DIGIT_BITS 11
#define DIGITS 2048
#define PASSES 4 /* cells stay below 2^44 when counted from the first */

static uint64_t cell_of(double v) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  if (bits == SIGN_BIT) {
    bits = 0;
  }
  return ((bits & SIGN_BIT) != 0 ? ~bits : bits | SIGN_BIT) >> CELL_SHIFT;
}

/* The double of smallest magnitude in the cell; zero never has a sign. */
static double value_of(uint64_t cell) {
  uint64_t bits = cell << CELL_SHIFT;
  double v;
  if ((bits & SIGN_BIT) != 0) {
    bits &= ~SIGN_BIT;
  } else {
    bits = ~(bits | ((UINT64_C(1) << CELL_SHIFT) - 1));
    bits = bits == SIGN_BIT ? 0 : bits;
  }
  memcpy(&v, &bits, sizeof v);
  return v;
}

static double clamp(double v, double lower, double upper) {
  v = v > lower ? v : lower;
  return v < upper ? v : upper;
}

/* Sorts by 11-bit digits from the lowest; spare has room for m. The result is
 * back in cell, for the number of passes is even. */
static void sort_cells(uint64_t *cell, uint64_t *spare, size_t m) {
  size_t start[DIGITS];
  for (int pass = 0; pass < PASSES; pass++) {
    const int shift = pass * DIGIT_BITS;
    memset(start, 0, sizeof start);
    for (size_t i = 0; i < m; i++) {
      start[(cell[i] >> shift) & (DIGITS - 1)]++;
    }
    size_t sum = 0;
    for (size_t digit = 0; digit < DIGITS; digit++) {
      const size_t count = start[digit];
      start[digit] = sum;
      sum += count;
    }
    for (size_t i = 0; i < m; i++) {
      spare[start[(cell[i] >> shift) & (DIGITS - 1)]++] = cell[i];
    }
    uint64_t *const swap = cell;
    cell = spare;
    spare = swap;
  }
}

dph_status dph_sorted_make(const double *x, size_t n, double lower, double upper,
                           dph_sorted *out, dph_error *err) {
  void *cells = NULL, *spare = NULL;
  if (!(lower <= upper)) {
    return dph_fail(err, DPH_ERR_ARGUMENT, "`lower` must be at most `upper`");
  }
  if ((uint64_t)n > ROWS_MAX) {
    return dph_fail(err, DPH_ERR_ARGUMENT, "a quantile takes at most 2^32 values");
  }
  lower = clamp(lower, -DBL_MAX, DBL_MAX) + 0.0; /* no negative zero */
  upper = clamp(upper, -DBL_MAX, DBL_MAX) + 0.0;
  const uint64_t first = cell_of(lower);
  DPH_TRY(dph_alloc(&cells, n, sizeof(uint64_t), err));
  const dph_status status = dph_alloc(&spare, n, sizeof(uint64_t), err);
  if (status != DPH_OK) {
    dph_free(cells);
    return status;
  }
  uint64_t *const cell = (uint64_t *)cells;
  size_t m = 0;
  for (size_t i = 0; i < n; i++) {
    if (x[i] == x[i]) {
      cell[m++] = cell_of(clamp(x[i], lower, upper)) - first;
    }
  }
  sort_cells(cell, (uint64_t *)spare, m);
  dph_free(spare);
  out->cell = cell;
  out->m = m;
  out->first = first;
  out->last = cell_of(upper);
  out->lower = lower;
  out->upper = upper;
  return DPH_OK;
}

void dph_sorted_free(dph_sorted *sorted) {
  dph_free(sorted->cell);
  sorted->cell = NULL;
  sorted->m = 0;
}

/* The public numbers of a draw as integers: prob in 2^-30, c in 2^-32. */
typedef struct {
  int64_t prob;
  uint64_t c;
} target;

static dph_status make_target(double prob, double c, target *out, dph_error *err) {
  if (!(prob >= 0.0 && prob <= 1.0)) {
    return dph_fail(err, DPH_ERR_ARGUMENT, "a probability must lie in [0, 1]");
  }
  if (!(c > 0.0)) {
    return dph_fail(err, DPH_ERR_ARGUMENT, "`c` must be positive");
  }
  out->prob = (int64_t)floor(prob * (double)RANK_ONE + 0.5);
  out->c = (uint64_t)floor(clamp(c, 0.0, C_MAX) * 4294967296.0);
  return DPH_OK;
}

/* D = max(0, 2^30 L - P m, P m - 2^30 U): at most 2^62. */
static uint64_t rank_distance(const target *t, size_t m, size_t below, size_t upto) {
  const int64_t aim = t->prob * (int64_t)m;
  const int64_t over = (int64_t)below * RANK_ONE - aim;
  const int64_t under = aim - (int64_t)upto * RANK_ONE;
  const int64_t most = over > under ? over : under;
  return most > 0 ? (uint64_t)most : 0;
}

/* min(2^60, floor(C D / 2^30)), exact. */
static int64_t penalty_of(const target *t, uint64_t distance) {
  uint64_t hi, lo;
  dph_mul_wide(t->c, distance, &hi, &lo);
  if (hi >> 30 != 0) {
    return PENALTY_MAX;
  }
  const uint64_t penalty = (hi << 34) | (lo >> 30);
  return penalty < (uint64_t)PENALTY_MAX ? (int64_t)penalty : PENALTY_MAX;
}

static int64_t width_score(uint64_t width) {
  return (int64_t)floor(4294967296.0 * log((double)width));
}

/* Walks the candidates from lower to upper: a gap if there is one, then the
 * next occupied cell. */
typedef struct {
  size_t at;     /* records below `next` */
  uint64_t next; /* the first cell not walked yet, counted from lower's */
} walk;

static int walk_step(const dph_sorted *s, walk *w, dph_quantile_view *out) {
  const uint64_t end = s->last - s->first + 1;
  if (w->next >= end) {
    return 0;
  }
  const size_t below = w->at;
  const uint64_t stop = below < s->m ? s->cell[below] : end;
  out->first = w->next;
  out->width = stop - w->next;
  if (out->width == 0) {
    out->width = 1;
    while (w->at < s->m && s->cell[w->at] == stop) {
      w->at++;
    }
  }
  w->next += out->width;
  return 1;
}

/* The same with utility, penalty and score. */
static int walk_next(const dph_sorted *s, const target *t, walk *w,
                     dph_quantile_view *out) {
  const size_t below = w->at;
  if (!walk_step(s, w, out)) {
    return 0;
  }
  out->distance = rank_distance(t, s->m, below, w->at);
  out->penalty = penalty_of(t, out->distance);
  out->score = width_score(out->width) - out->penalty;
  return 1;
}

dph_status dph_sorted_look(const dph_sorted *sorted, double prob, double c, double at,
                           dph_quantile_view *out, dph_error *err) {
  target t;
  walk w = {0, 0};
  DPH_TRY(make_target(prob, c, &t, err));
  if (at != at) {
    return dph_fail(err, DPH_ERR_ARGUMENT, "a point must not be missing");
  }
  const uint64_t cell = cell_of(clamp(at, sorted->lower, sorted->upper)) - sorted->first;
  int more = 1;
  while (more && w.next <= cell) {
    more = walk_next(sorted, &t, &w, out);
  }
  return DPH_OK;
}

static dph_status choose_candidate(dph_rng *rng, const dph_sorted *sorted,
                                   const target *t, size_t *chosen, dph_error *err) {
  void *memory = NULL;
  size_t room = 0, count = 0;
  walk w = {0, 0};
  dph_quantile_view view;
  DPH_TRY(dph_size_mul(sorted->m, 2, &room, err));
  DPH_TRY(dph_alloc(&memory, room + 1, sizeof(int64_t), err));
  int64_t *const score = (int64_t *)memory;
  while (walk_next(sorted, t, &w, &view)) {
    score[count++] = view.score;
  }
  const dph_status status =
      dph_exponential_mechanism(rng, score, count, DPH_QUANTILE_SCALE, chosen, err);
  dph_free(memory);
  return status;
}

dph_status dph_sorted_quantile(dph_rng *rng, const dph_sorted *sorted, double prob,
                               double c, double *out, dph_error *err) {
  target t;
  size_t chosen = 0;
  walk w = {0, 0};
  dph_quantile_view view = {0, 1, 0, 0, 0};
  DPH_TRY(make_target(prob, c, &t, err));
  DPH_TRY(choose_candidate(rng, sorted, &t, &chosen, err));
  for (size_t i = 0; i <= chosen; i++) {
    walk_step(sorted, &w, &view);
  }
  const uint64_t cell = view.first + dph_rng_below(rng, view.width);
  *out = clamp(value_of(sorted->first + cell), sorted->lower, sorted->upper);
  return DPH_OK;
}

dph_status dph_quantile(dph_rng *rng, const double *x, size_t n, double prob, double c,
                        double lower, double upper, double *out, dph_error *err) {
  dph_sorted sorted;
  DPH_TRY(dph_sorted_make(x, n, lower, upper, &sorted, err));
  const dph_status status = dph_sorted_quantile(rng, &sorted, prob, c, out, err);
  dph_sorted_free(&sorted);
  return status;
}
