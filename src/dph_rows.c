/* Blocks of standardised rows; see dph_rows.h. All loops over rows run to the
 * constant DPH_BLOCK, which lets a compiler vectorise them at -O2, and treat
 * each row by the same operations wherever it stands. */
#include "dph_rows.h"

#include <string.h>

size_t dph_rows_columns(const dph_rows *rows) {
  return rows->p + (rows->intercept ? 1 : 0);
}

/* Entries start, ..., start + len - 1 of the view of v: in place, or gathered. */
static const double *view(const dph_rows *rows, const double *v, size_t start, size_t len,
                          double *space) {
  if (!rows->index) {
    return v + start;
  }
  for (size_t i = 0; i < len; i++) {
    space[i] = v[rows->index[start + i]];
  }
  return space;
}

static void fill_column(const double *x, size_t len, double center, double inv_scale,
                        double *restrict out, double *restrict probe) {
  if (len == DPH_BLOCK) {
    for (size_t i = 0; i < DPH_BLOCK; i++) {
      const double v = (x[i] - center) * inv_scale;
      out[i] = v;
      probe[i] += v * 0.0; /* NaN from here on if v is not finite */
    }
  } else {
    for (size_t i = 0; i < len; i++) {
      const double v = (x[i] - center) * inv_scale;
      out[i] = v;
      probe[i] += v * 0.0;
    }
    memset(out + len, 0, (DPH_BLOCK - len) * sizeof(double));
  }
}

static void fill_response(const dph_rows *rows, size_t start, size_t len, double *y,
                          double *probe) {
  for (size_t i = 0; i < len; i++) {
    const size_t at = dph_rows_at(rows, start + i);
    const double offset = rows->offset ? rows->offset[at] : 0.0;
    const double shift = rows->offset_in_margin ? 0.0 : offset;
    const double v = ((rows->y[at] - shift) - rows->y_center) * rows->y_inv_scale;
    y[i] = v;
    probe[i] += v * 0.0 + offset * 0.0;
  }
  memset(y + len, 0, (DPH_BLOCK - len) * sizeof(double));
}

static void clear_row(double *z, size_t k, double *y, size_t i) {
  for (size_t j = 0; j < k; j++) {
    z[j * DPH_BLOCK + i] = 0.0;
  }
  if (y) {
    y[i] = 0.0;
  }
}

size_t dph_rows_fill(const dph_rows *rows, size_t start, double *z, double *y,
                     unsigned char *valid) {
  const size_t left = rows->n - start;
  const size_t len = left < DPH_BLOCK ? left : DPH_BLOCK;
  const size_t k = dph_rows_columns(rows);
  double probe[DPH_BLOCK] = {0.0}, space[DPH_BLOCK];
  double *column = z;
  if (rows->intercept) {
    for (size_t i = 0; i < DPH_BLOCK; i++) {
      column[i] = i < len ? 1.0 : 0.0;
    }
    column += DPH_BLOCK;
  }
  for (size_t j = 0; j < rows->p; j++) {
    fill_column(view(rows, rows->x + j * rows->stride, start, len, space), len,
                rows->center[j], rows->inv_scale[j], column, probe);
    column += DPH_BLOCK;
  }
  if (rows->y) {
    fill_response(rows, start, len, y, probe);
  }
  for (size_t i = 0; i < len; i++) {
    const int used = !rows->use || rows->use[dph_rows_at(rows, start + i)] != 0;
    valid[i] = (unsigned char)(probe[i] == 0.0 && used);
    if (!valid[i]) {
      clear_row(z, k, rows->y ? y : NULL, i);
    }
  }
  memset(valid + len, 0, DPH_BLOCK - len);
  return len;
}

/* Four columns at a time: standardise, keep, add to the margins. Inlined with len
 * constant for full blocks, so that they are vectorised. */
static inline void fill_margin_four(const dph_rows *rows, size_t start, size_t len, size_t j,
                                    const double *w, double *restrict z,
                                    double *restrict eta) {
  double space[4][DPH_BLOCK];
  const double *x = rows->x + j * rows->stride;
  const double *x0 = view(rows, x, start, len, space[0]);
  const double *x1 = view(rows, x + rows->stride, start, len, space[1]);
  const double *x2 = view(rows, x + 2 * rows->stride, start, len, space[2]);
  const double *x3 = view(rows, x + 3 * rows->stride, start, len, space[3]);
  const double c0 = rows->center[j], c1 = rows->center[j + 1];
  const double c2 = rows->center[j + 2], c3 = rows->center[j + 3];
  const double s0 = rows->inv_scale[j], s1 = rows->inv_scale[j + 1];
  const double s2 = rows->inv_scale[j + 2], s3 = rows->inv_scale[j + 3];
  for (size_t i = 0; i < len; i++) {
    const double v0 = (x0[i] - c0) * s0, v1 = (x1[i] - c1) * s1;
    const double v2 = (x2[i] - c2) * s2, v3 = (x3[i] - c3) * s3;
    z[i] = v0;
    z[DPH_BLOCK + i] = v1;
    z[2 * DPH_BLOCK + i] = v2;
    z[3 * DPH_BLOCK + i] = v3;
    eta[i] += (v0 * w[0] + v1 * w[1]) + (v2 * w[2] + v3 * w[3]);
  }
}

static void fill_margin_one(const dph_rows *rows, size_t start, size_t len, size_t j,
                            double w, double *restrict z, double *restrict eta) {
  double space[DPH_BLOCK];
  const double *x = view(rows, rows->x + j * rows->stride, start, len, space);
  const double center = rows->center[j], inv_scale = rows->inv_scale[j];
  for (size_t i = 0; i < len; i++) {
    const double v = (x[i] - center) * inv_scale;
    z[i] = v;
    eta[i] += v * w;
  }
}

static inline double margin_offset(const dph_rows *rows, size_t start, size_t i, size_t len) {
  return rows->offset_in_margin && rows->offset && i < len
             ? rows->offset[dph_rows_at(rows, start + i)]
             : 0.0;
}

/* Every row, wherever it stands, sees the same additions in the same order. */
size_t dph_rows_fill_margin(const dph_rows *rows, size_t start, const double *norm,
                            const double *w, double *z, double *y, double *eta,
                            unsigned char *valid) {
  const size_t left = rows->n - start, len = left < DPH_BLOCK ? left : DPH_BLOCK;
  const size_t first = rows->intercept ? 1 : 0, k = rows->p + first;
  double unused[DPH_BLOCK] = {0.0};
  size_t j = 0;
  memset(z, 0, (len < DPH_BLOCK ? k * DPH_BLOCK : 0) * sizeof *z);
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    eta[i] = (first ? w[0] : 0.0) + margin_offset(rows, start, i, len);
    valid[i] = (unsigned char)(i < len && norm[dph_rows_at(rows, start + i)] < INFINITY);
  }
  for (size_t i = 0; first && i < DPH_BLOCK; i++) {
    z[i] = i < len ? 1.0 : 0.0;
  }
  for (; j + 4 <= rows->p; j += 4) {
    double *to = z + (first + j) * DPH_BLOCK;
    if (len == DPH_BLOCK) {
      fill_margin_four(rows, start, DPH_BLOCK, j, w + first + j, to, eta);
    } else {
      fill_margin_four(rows, start, len, j, w + first + j, to, eta);
    }
  }
  for (; j < rows->p; j++) {
    fill_margin_one(rows, start, len, j, w[first + j], z + (first + j) * DPH_BLOCK, eta);
  }
  if (rows->y) {
    fill_response(rows, start, len, y, unused);
  }
  for (size_t i = 0; i < len; i++) {
    if (!valid[i]) {
      clear_row(z, k, rows->y ? y : NULL, i);
      eta[i] = 0.0;
    }
  }
  return len;
}

static void add_scaled(const double *restrict z, double a, double *restrict out) {
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    out[i] += a * z[i];
  }
}

static void add_squares(const double *restrict v, double *restrict out) {
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    out[i] += v[i] * v[i];
  }
}

void dph_block_norm(const double *z, size_t k, const double *root, double *work,
                    double *out) {
  memset(out, 0, DPH_BLOCK * sizeof(double));
  for (size_t a = 0; a < k; a++) {
    if (!root) {
      add_squares(z + a * DPH_BLOCK, out);
      continue;
    }
    memset(work, 0, DPH_BLOCK * sizeof(double));
    for (size_t b = 0; b <= a; b++) {
      add_scaled(z + b * DPH_BLOCK, root[a + b * k], work);
    }
    add_squares(work, out);
  }
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    out[i] = sqrt(out[i]);
  }
}
