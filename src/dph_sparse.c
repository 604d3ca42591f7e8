/* Walks over compressed columns; see dph_sparse.h. */
#include "dph_sparse.h"

#include <string.h>

#define POLL_ENTRIES 262144

static dph_status damaged(dph_error *err) {
  return dph_fail(err, DPH_ERR_ARGUMENT, "the sparse matrix is damaged");
}

static dph_status check_places(const dph_sparse *s, dph_error *err) {
  const size_t columns = s->rows.p;
  int falls = s->p[0] != 0;
  for (size_t j = 0; j < columns; j++) {
    falls |= s->p[j + 1] < s->p[j];
  }
  return falls || (size_t)s->p[columns] != s->entries ? damaged(err) : DPH_OK;
}

/* Rows in range, each once: rising from above -1 to a last one that is in range. */
static int column_ok(const dph_sparse *s, size_t j) {
  int last = -1, falls = 0;
  for (int e = s->p[j]; e < s->p[j + 1]; e++) {
    falls |= s->i[e] <= last;
    last = s->i[e];
  }
  return !falls && (last < 0 || (size_t)last < s->rows.stride);
}

dph_status dph_sparse_check(const dph_sparse *s, dph_error *err) {
  DPH_TRY(check_places(s, err));
  for (size_t j = 0; j < s->rows.p; j++) {
    if (!column_ok(s, j)) {
      return damaged(err);
    }
  }
  return DPH_OK;
}

static dph_status poll_entries(const dph_sparse *s, size_t j, const dph_poll *poll,
                               size_t *entries, dph_error *err) {
  *entries += (size_t)(s->p[j + 1] - s->p[j]) + 1;
  if (*entries <= POLL_ENTRIES) {
    return DPH_OK;
  }
  *entries = 0;
  return dph_check_poll(poll, err);
}

/* A column that may be read, with a poll once in a while. */
static dph_status visit(const dph_sparse *s, size_t j, const dph_poll *poll,
                        size_t *entries, dph_error *err) {
  DPH_TRY(poll_entries(s, j, poll, entries, err));
  return column_ok(s, j) ? DPH_OK : damaged(err);
}

/* ---- rows ---------------------------------------------------------------------- */

/* The standardised response of a row of storage. */
static double response(const dph_rows *rows, size_t at) {
  const double shift = rows->offset && !rows->offset_in_margin ? rows->offset[at] : 0.0;
  return ((rows->y[at] - shift) - rows->y_center) * rows->y_inv_scale;
}

/* Is the row in use, response and offset finite? */
static int kept(const dph_rows *rows, size_t at) {
  double probe = 0.0;
  if (rows->y) {
    probe = response(rows, at) * 0.0 + (rows->offset ? rows->offset[at] * 0.0 : 0.0);
  }
  return probe == 0.0 && (!rows->use || rows->use[at] != 0);
}

dph_status dph_sparse_norms(const dph_sparse *s, const dph_poll *poll, double *norm,
                            dph_error *err) {
  const dph_rows *rows = &s->rows;
  size_t entries = 0;
  DPH_TRY(check_places(s, err));
  for (size_t r = 0; r < rows->stride; r++) {
    norm[r] = rows->intercept ? 1.0 : 0.0;
  }
  for (size_t j = 0; j < rows->p; j++) {
    DPH_TRY(visit(s, j, poll, &entries, err));
    for (int e = s->p[j]; e < s->p[j + 1]; e++) {
      const double v = s->x[e] * rows->inv_scale[j];
      norm[s->i[e]] += v * v; /* NaN from here on, or infinite, if v is not finite */
    }
  }
  for (size_t r = 0; r < rows->stride; r++) {
    norm[r] = kept(rows, r) && norm[r] < INFINITY ? sqrt(norm[r]) : INFINITY;
  }
  return DPH_OK;
}

static double clamped(double v, double bound) {
  return v < bound ? (v > -bound ? v : -bound) : bound;
}

/* eta += the columns' part, four at a time; `four`: 4 numbers per row, zero before and
 * after. Columns without a coefficient add nothing. */
static dph_status add_four(const dph_sparse *s, size_t j, const double *w,
                           const dph_poll *poll, double *four, double *eta,
                           size_t *entries, dph_error *err) {
  for (size_t c = 0; c < 4; c++) {
    if (w[c] != 0.0) {
      const double scale = s->rows.inv_scale[j + c];
      DPH_TRY(visit(s, j + c, poll, entries, err));
      for (int e = s->p[j + c]; e < s->p[j + c + 1]; e++) {
        four[4 * (size_t)s->i[e] + c] = s->x[e] * scale;
      }
    }
  }
  for (size_t c = 0; c < 4; c++) {
    for (int e = s->p[j + c]; w[c] != 0.0 && e < s->p[j + c + 1]; e++) {
      double *v = four + 4 * (size_t)s->i[e];
      eta[s->i[e]] += (v[0] * w[0] + v[1] * w[1]) + (v[2] * w[2] + v[3] * w[3]);
      v[0] = v[1] = v[2] = v[3] = 0.0;
    }
  }
  return DPH_OK;
}

/* The same one by one, of entries clamped to +-bound. */
static dph_status add_one(const dph_sparse *s, size_t j, double w, double bound,
                          const dph_poll *poll, double *eta, size_t *entries,
                          dph_error *err) {
  if (w == 0.0) {
    return DPH_OK;
  }
  DPH_TRY(visit(s, j, poll, entries, err));
  for (int e = s->p[j]; e < s->p[j + 1]; e++) {
    const double v = clamped(s->x[e] * s->rows.inv_scale[j], bound);
    eta[s->i[e]] += v * w;
  }
  return DPH_OK;
}

/* bound < Inf: of shrunken data, whose columns are added one by one. */
static dph_status margins(const dph_sparse *s, const double *norm, const double *w,
                          double bound, const dph_poll *poll, double *four, double *eta,
                          dph_error *err) {
  const dph_rows *rows = &s->rows;
  const size_t first = rows->intercept ? 1 : 0;
  size_t j = 0, entries = 0;
  DPH_TRY(check_places(s, err));
  for (size_t r = 0; r < rows->stride; r++) {
    const double offset = rows->offset_in_margin && rows->offset ? rows->offset[r] : 0.0;
    eta[r] = (first ? w[0] : 0.0) + offset;
  }
  for (; bound == INFINITY && j + 4 <= rows->p; j += 4) {
    DPH_TRY(add_four(s, j, w + first + j, poll, four, eta, &entries, err));
  }
  for (; j < rows->p; j++) {
    DPH_TRY(add_one(s, j, w[first + j], bound, poll, eta, &entries, err));
  }
  for (size_t r = 0; r < rows->stride; r++) {
    eta[r] = norm[r] < INFINITY ? eta[r] : 0.0;
  }
  return DPH_OK;
}

dph_status dph_sparse_margins(const dph_sparse *s, const double *norm, const double *w,
                              const dph_poll *poll, double *eta, dph_error *err) {
  size_t cells = 0;
  void *four = NULL;
  DPH_TRY(dph_size_mul(s->rows.stride, 4, &cells, err));
  DPH_TRY(dph_alloc(&four, cells, sizeof(double), err));
  const dph_status status = margins(s, norm, w, INFINITY, poll, four, eta, err);
  dph_free(four);
  return status;
}

/* ---- derivatives --------------------------------------------------------------- */

/* What a walk over entries knows: numbers per row, and a block of entries with the
 * coordinates that they are of. */
typedef struct walk {
  const dph_sparse *s;
  const dph_gradient_rule *rule;
  const dph_octaves *cells;
  double bound;        /* of shrunken entries, else + inf */
  double *four, *eta, *y, *factor;
  unsigned char *valid; /* is the row in the view, and finite? */
  double absent;        /* entry of a row that is not valid */
  void (*flush)(struct walk *walk);
  size_t len, segments;
  double z[DPH_BLOCK], g[DPH_BLOCK], step[DPH_BLOCK], out[DPH_BLOCK];
  size_t coordinate[DPH_BLOCK], from[DPH_BLOCK + 1];
  int64_t *exact;
  double *plain;
} walk;

static void mark_valid(walk *t, const double *norm) {
  const dph_rows *rows = &t->s->rows;
  memset(t->valid, rows->index ? 0 : 1, rows->stride);
  for (size_t i = 0; rows->index && i < rows->n; i++) {
    t->valid[rows->index[i]] = 1;
  }
  for (size_t r = 0; r < rows->stride; r++) {
    t->valid[r] = (unsigned char)(t->valid[r] && norm[r] < INFINITY);
  }
}

/* factor[r]: the derivative, finite and bounded; 0 for a row that is not valid. */
static dph_status derivatives(walk *t, const double *norm, const double *w,
                              const dph_poll *poll, dph_error *err) {
  const dph_rows *rows = &t->s->rows;
  const double most = t->rule->psi_bound < 1e300 ? t->rule->psi_bound : 1e300;
  const double *psi = t->rule->psi ? t->rule->psi : t->factor;
  mark_valid(t, norm);
  if (!t->rule->psi) {
    DPH_TRY(margins(t->s, norm, w, t->bound, poll, t->four, t->eta, err));
    for (size_t r = 0; r < rows->stride; r++) {
      const double y = rows->y && t->valid[r] ? response(rows, r) : 0.0;
      t->y[r] = t->bound < INFINITY ? clamped(y, t->bound) : y;
    }
    t->rule->loss->derivative(t->eta, t->y, rows->stride, t->rule->tuning, t->factor);
  }
  for (size_t r = 0; r < rows->stride; r++) {
    const double v = psi[r] == psi[r] && t->valid[r] ? psi[r] : 0.0;
    t->factor[r] = v < most ? (v > -most ? v : -most) : most;
  }
  return DPH_OK;
}

/* ---- blocks of entries ----------------------------------------------------------- */

static void flush(walk *t) {
  memset(t->z + t->len, 0, (DPH_BLOCK - t->len) * sizeof(double));
  memset(t->g + t->len, 0, (DPH_BLOCK - t->len) * sizeof(double));
  t->from[t->segments] = t->len;
  t->flush(t);
  t->len = 0;
  t->segments = 0;
}

/* Room for the next entries of a coordinate, at least one. */
static size_t room(walk *t, size_t coordinate, size_t wanted) {
  if (t->len == DPH_BLOCK) {
    flush(t);
  }
  t->coordinate[t->segments] = coordinate;
  t->from[t->segments++] = t->len;
  return wanted < DPH_BLOCK - t->len ? wanted : DPH_BLOCK - t->len;
}

static void add_intercept(walk *t) {
  const size_t rows = t->s->rows.stride;
  for (size_t start = 0; start < rows;) {
    const size_t len = room(t, 0, rows - start);
    for (size_t r = start; r < start + len; r++, t->len++) {
      t->z[t->len] = t->valid[r] ? 1.0 : t->absent;
      t->g[t->len] = t->factor[r];
    }
    start += len;
  }
}

/* Column j; the entries of valid rows are counted. */
static size_t add_column(walk *t, size_t j, size_t coordinate) {
  const dph_sparse *s = t->s;
  const double scale = s->rows.inv_scale[j], bound = t->bound;
  const size_t end = (size_t)s->p[j + 1];
  size_t there = 0;
  for (size_t start = (size_t)s->p[j]; start < end;) {
    const size_t len = room(t, coordinate, end - start);
    double *z = t->z + t->len, *g = t->g + t->len;
    for (size_t e = 0; e < len; e++) {
      const int r = s->i[start + e];
      const double v = clamped(s->x[start + e] * scale, bound);
      z[e] = t->valid[r] ? v : t->absent;
      g[e] = t->factor[r];
      there += t->valid[r];
    }
    t->len += len;
    start += len;
  }
  return there;
}

static void flush_exact(walk *t) {
  t->rule->estimator->element(t->z, t->g, &t->rule->element);
  dph_block_fixed(t->z, t->step, t->rule->limit, t->out);
  for (size_t a = 0; a < t->segments; a++) {
    int64_t sum = 0;
    for (size_t e = t->from[a]; e < t->from[a + 1]; e++) {
      sum += (int64_t)t->out[e];
    }
    t->exact[t->coordinate[a]] += sum;
  }
}

static void flush_plain(walk *t) {
  t->rule->estimator->element(t->z, t->g, &t->rule->element);
  for (size_t a = 0; a < t->segments; a++) {
    double sum = 0.0;
    for (size_t e = t->from[a]; e < t->from[a + 1]; e++) {
      sum += t->z[e];
    }
    t->plain[t->coordinate[a]] += sum;
  }
}

static void flush_count(walk *t) {
  dph_element_plain(t->z, t->g, &t->rule->element);
  dph_octaves_add(t->cells, t->z, t->len, t->exact);
}

/* ---- walks --------------------------------------------------------------------- */

/* All entries; *there: how many of them are of valid rows. */
static dph_status run(walk *t, const dph_poll *poll, size_t *there, dph_error *err) {
  const size_t first = t->s->rows.intercept ? 1 : 0;
  size_t entries = 0;
  *there = 0;
  if (first) {
    add_intercept(t);
  }
  for (size_t j = 0; j < t->s->rows.p; j++) {
    DPH_TRY(visit(t->s, j, poll, &entries, err));
    *there += add_column(t, j, first + j);
  }
  flush(t);
  return DPH_OK;
}

static dph_status make_walk(walk *t, const dph_sparse *s, const dph_gradient_rule *rule,
                            void **memory, dph_error *err) {
  const size_t n = s->rows.stride;
  size_t cells = 0;
  if (rule->groups > 0 || rule->estimator->multiplier) {
    return dph_fail(err, DPH_ERR_ARGUMENT, "sparse sums go coordinate by coordinate");
  }
  memset(t, 0, sizeof *t);
  DPH_TRY(check_places(s, err));
  DPH_TRY(dph_size_mul(n, 8, &cells, err));
  DPH_TRY(dph_alloc(memory, cells, sizeof(double), err));
  t->s = s;
  t->rule = rule;
  t->bound = rule->estimator->shrinks ? rule->bound : INFINITY;
  t->four = *memory;
  t->eta = t->four + 4 * n;
  t->y = t->eta + n;
  t->factor = t->y + n;
  t->valid = (unsigned char *)(t->factor + n);
  return DPH_OK;
}

/* A contribution in steps, as a whole number; NaN, of a row that adds zero, is zero. */
static inline int64_t on_grid(double v, double limit) {
  v = v == v ? v : 0.0;
  v = v > -limit ? v : -limit;
  v = v < limit ? v : limit;
  return (int64_t)dph_round(v);
}

/* Column j where the clamp to +-limit is all that is to be done; factors in steps. The
 * check of column_ok() in the same loop: a row out of range is read as row 0. */
static int clamped_sum(const walk *t, size_t j, int64_t *out) {
  const dph_sparse *s = t->s;
  const double scale = s->rows.inv_scale[j], limit = t->rule->limit;
  const unsigned rows = (unsigned)s->rows.stride;
  int last = -1, bad = 0;
  int64_t sum = 0;
  for (int e = s->p[j]; e < s->p[j + 1]; e++) {
    const unsigned r = (unsigned)s->i[e] < rows ? (unsigned)s->i[e] : 0;
    const double v = s->x[e] * scale * t->factor[r];
    sum += on_grid(v, limit);
    bad |= s->i[e] <= last;
    last = s->i[e];
  }
  *out = sum;
  return !bad && (last < 0 || (unsigned)last < rows);
}

/* Winsorized sums on the grid, without blocks. */
static dph_status run_clamped(walk *t, const dph_poll *poll, dph_error *err) {
  const dph_rows *rows = &t->s->rows;
  const double inv_step = 1.0 / t->rule->step;
  int64_t *slopes = t->exact + (rows->intercept ? 1 : 0);
  size_t entries = 0;
  for (size_t r = 0; r < rows->stride; r++) {
    t->factor[r] *= inv_step;
    if (rows->intercept) {
      t->exact[0] += on_grid(t->factor[r], t->rule->limit);
    }
  }
  for (size_t j = 0; j < rows->p; j++) {
    DPH_TRY(clamped_sum(t, j, &slopes[j]) ? DPH_OK : damaged(err));
    DPH_TRY(poll_entries(t->s, j, poll, &entries, err));
  }
  return DPH_OK;
}

dph_status dph_sparse_sum(const dph_sparse *s, const double *norm, const double *w,
                          const dph_gradient_rule *rule, const dph_poll *poll,
                          int64_t *exact, double *plain, dph_error *err) {
  const int grid = rule->step > 0.0;
  const int clamps = grid && rule->estimator->element == dph_element_winsorize;
  const size_t k = dph_rows_columns(&s->rows);
  void *memory = NULL;
  size_t there;
  walk t;
  DPH_TRY(grid ? dph_fixed_check(s->rows.n, rule->limit, err) : DPH_OK);
  DPH_TRY(make_walk(&t, s, rule, &memory, err));
  memset(grid ? (void *)exact : (void *)plain, 0, k * sizeof(double));
  t.exact = exact;
  t.plain = plain;
  t.flush = grid ? flush_exact : flush_plain;
  for (size_t e = 0; grid && e < DPH_BLOCK; e++) {
    t.step[e] = 1.0 / rule->step;
  }
  dph_status status = derivatives(&t, norm, w, poll, err);
  if (status == DPH_OK) {
    status = clamps ? run_clamped(&t, poll, err) : run(&t, poll, &there, err);
  }
  dph_free(memory);
  return status;
}

dph_status dph_sparse_count(const dph_sparse *s, const double *norm, const double *w,
                            const dph_gradient_rule *rule, const dph_octaves *cells,
                            const dph_poll *poll, int64_t *counts, dph_error *err) {
  void *memory = NULL;
  size_t valid = 0, there = 0;
  walk t;
  DPH_TRY(make_walk(&t, s, rule, &memory, err));
  memset(counts, 0, dph_octaves_count(cells) * sizeof *counts);
  t.cells = cells;
  t.exact = counts;
  t.absent = NAN;
  t.flush = flush_count;
  dph_status status = derivatives(&t, norm, w, poll, err);
  if (status == DPH_OK) {
    status = run(&t, poll, &there, err);
  }
  for (size_t r = 0; status == DPH_OK && r < s->rows.stride; r++) {
    valid += t.valid[r];
  }
  counts[dph_octaves_index(cells, 0.0)] += (int64_t)(valid * s->rows.p - there);
  dph_free(memory);
  return status;
}
