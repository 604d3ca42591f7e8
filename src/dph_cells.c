/* Counting records in cells; see dph_cells.h. */
#include "dph_cells.h"

#include <string.h>

dph_status dph_octaves_check(const dph_octaves *cells, dph_error *err) {
  if (cells->lo < -1100 || cells->hi > 1100 || cells->lo >= cells->hi ||
      (cells->sub != 1 && cells->sub != 2 && cells->sub != 4)) {
    return dph_fail(err, DPH_ERR_ARGUMENT, "octave cells out of range");
  }
  return DPH_OK;
}

static size_t half_count(const dph_octaves *cells) {
  return (size_t)(cells->hi - cells->lo) * (size_t)cells->sub;
}

size_t dph_octaves_count(const dph_octaves *cells) {
  return (cells->has_sign ? 2 : 1) * half_count(cells) + 1;
}

/* Part of the octave that the mantissa m in [1/2, 1) lies in. */
static int sub_cell(double m, int sub) {
  const double quarter[3] = {0.59460355750136053, 0.70710678118654752,
                             0.84089641525371454};
  if (sub == 1) {
    return 0;
  }
  if (sub == 2) {
    return m >= quarter[1];
  }
  return (m >= quarter[0]) + (m >= quarter[1]) + (m >= quarter[2]);
}

/* 0, ..., half_count - 1 for |v| > 0. */
static size_t size_cell(const dph_octaves *cells, double v) {
  const size_t last = half_count(cells) - 1;
  int exponent;
  double m;
  if (v > DBL_MAX || v < -DBL_MAX) {
    return last;
  }
  m = frexp(fabs(v), &exponent); /* |v| = m 2^exponent, octave exponent - 1 */
  exponent -= 1;
  if (exponent < cells->lo) {
    return 0;
  }
  if (exponent >= cells->hi) {
    return last;
  }
  return (size_t)(exponent - cells->lo) * (size_t)cells->sub + (size_t)sub_cell(m, cells->sub);
}

size_t dph_octaves_index(const dph_octaves *cells, double v) {
  const size_t half = half_count(cells);
  const size_t zero = cells->has_sign ? half : 0;
  if (v == 0.0) {
    return zero;
  }
  if (cells->has_sign && v < 0.0) {
    return zero - 1 - size_cell(cells, v);
  }
  return zero + 1 + size_cell(cells, v);
}

/* One column of the source: x, or the response for j = p. */
typedef struct {
  const double *v, *offset;
  double center, inv_scale;
} column;

static column column_get(const dph_rows *rows, size_t j) {
  column c;
  if (j < rows->p) {
    c.v = rows->x + j * rows->n;
    c.offset = NULL;
    c.center = rows->center[j];
    c.inv_scale = rows->inv_scale[j];
  } else {
    c.v = rows->y;
    c.offset = rows->offset;
    c.center = rows->y_center;
    c.inv_scale = rows->y_inv_scale;
  }
  return c;
}

static double column_value(const column *c, size_t i) {
  const double shift = c->offset ? c->offset[i] : 0.0;
  return ((c->v[i] - shift) - c->center) * c->inv_scale;
}

/* Once in 2^20 records. */
static dph_status poll_record(const dph_poll *poll, size_t i, dph_error *err) {
  return (i & 0xfffff) == 0 ? dph_check_poll(poll, err) : DPH_OK;
}

static int in_use(const dph_rows *rows, size_t i) {
  return !rows->use || rows->use[i] != 0;
}

dph_status dph_count_columns(const dph_rows *rows, dph_which which,
                             const dph_octaves *cells, const dph_poll *poll,
                             int64_t *counts, dph_error *err) {
  const size_t m = dph_octaves_count(cells);
  memset(counts, 0, m * which.size * sizeof *counts);
  for (size_t j = 0; j < which.size; j++) {
    const column c = column_get(rows, which.index[j]);
    for (size_t i = 0; i < rows->n; i++) {
      DPH_TRY(poll_record(poll, i, err));
      const double v = column_value(&c, i);
      if (v == v && in_use(rows, i)) {
        counts[j * m + dph_octaves_index(cells, v)] += 1;
      }
    }
  }
  return DPH_OK;
}

dph_status dph_count_pairs(const dph_rows *rows, dph_which which, const uint32_t *perm,
                           const dph_octaves *cells, const dph_poll *poll,
                           int64_t *counts, dph_error *err) {
  const size_t m = dph_octaves_count(cells);
  memset(counts, 0, m * which.size * sizeof *counts);
  for (size_t j = 0; j < which.size; j++) {
    const column c = column_get(rows, which.index[j]);
    for (size_t h = 0; h + 1 < rows->n; h += 2) {
      DPH_TRY(poll_record(poll, h, err));
      const size_t a = perm[h], b = perm[h + 1];
      const double v = column_value(&c, a) - column_value(&c, b);
      if (v == v && in_use(rows, a) && in_use(rows, b)) {
        counts[j * m + dph_octaves_index(cells, fabs(v))] += 1;
      }
    }
  }
  return DPH_OK;
}

static size_t equal_index(double v, double lower, double width, size_t m) {
  const double cell = floor((v - lower) / width);
  if (!(cell >= 0.0)) {
    return 0;
  }
  return cell >= (double)m ? m + 1 : (size_t)cell + 1;
}

dph_status dph_count_equal(const dph_rows *rows, dph_which which, const double *lower,
                           const double *width, size_t m, const dph_poll *poll,
                           int64_t *counts, dph_error *err) {
  memset(counts, 0, (m + 2) * which.size * sizeof *counts);
  for (size_t j = 0; j < which.size; j++) {
    const column c = column_get(rows, which.index[j]);
    for (size_t i = 0; i < rows->n; i++) {
      DPH_TRY(poll_record(poll, i, err));
      const double v = column_value(&c, i);
      if (v == v && in_use(rows, i)) {
        counts[j * (m + 2) + equal_index(v, lower[j], width[j], m)] += 1;
      }
    }
  }
  return DPH_OK;
}

void dph_count_values(const double *v, size_t n, const dph_octaves *cells,
                      int64_t *counts) {
  memset(counts, 0, dph_octaves_count(cells) * sizeof *counts);
  for (size_t i = 0; i < n; i++) {
    if (v[i] < INFINITY) {
      counts[dph_octaves_index(cells, v[i])] += 1;
    }
  }
}
