/* Blocks of standardised rows; see dph_rows.h. All loops over rows run to the
 * constant DPH_BLOCK, which lets a compiler vectorise them at -O2, and treat
 * each row by the same operations wherever it stands. */
#include "dph_rows.h"

#include <string.h>

size_t dph_rows_columns(const dph_rows *rows) {
  return rows->p + (rows->intercept ? 1 : 0);
}

const double *dph_rows_view(const dph_rows *rows, const double *v, size_t start, size_t len,
                            double fill, double *space) {
  if (!rows->index && len == DPH_BLOCK) {
    return v + start;
  }
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    space[i] = i < len ? v[dph_rows_at(rows, start + i)] : fill;
  }
  return space;
}

/* A block of column j, filled up with its centre, which becomes zero. */
static const double *column_view(const dph_rows *rows, size_t j, size_t start, size_t len,
                                 double *space) {
  return dph_rows_view(rows, rows->x + j * rows->stride, start, len, rows->center[j], space);
}

DPH_KERNEL static void fill_column(const double *x, double center, double inv_scale,
                                   double *restrict out, double *restrict probe) {
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    const double v = (x[i] - center) * inv_scale;
    out[i] = v;
    probe[i] += v * 0.0; /* NaN from here on if v is not finite */
  }
}

DPH_KERNEL static void response(const double *y, const double *shift, double center,
                                double inv_scale, double *restrict out,
                                double *restrict probe) {
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    const double v = ((y[i] - shift[i]) - center) * inv_scale;
    out[i] = v;
    probe[i] += v * 0.0;
  }
}

/* The response less the offset that belongs to it; the offset, if there is one, must be
 * finite wherever it goes. */
static void fill_response(const dph_rows *rows, size_t start, size_t len, double *y,
                          double *probe) {
  double space[DPH_BLOCK], other[DPH_BLOCK], zero[DPH_BLOCK] = {0.0};
  const double *shift = zero;
  if (rows->offset) {
    const double *offset = dph_rows_view(rows, rows->offset, start, len, 0.0, other);
    shift = rows->offset_in_margin ? zero : offset;
    for (size_t i = 0; i < DPH_BLOCK; i++) {
      probe[i] += offset[i] * 0.0;
    }
  }
  response(dph_rows_view(rows, rows->y, start, len, rows->y_center, space), shift,
           rows->y_center, rows->y_inv_scale, y, probe);
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
    fill_column(column_view(rows, j, start, len, space), rows->center[j], rows->inv_scale[j],
                column, probe);
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

/* Four columns at a time: standardise, keep, add to the margins. next: is there a block
 * after this? It is asked for: it follows in memory, but is read only after the other
 * columns. */
DPH_KERNEL static void margin_four(const double *const x[4], const double *center,
                                   const double *inv_scale, const double *w,
                                   int next, double *restrict z, double *restrict eta) {
  const double *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];
  const double c0 = center[0], c1 = center[1], c2 = center[2], c3 = center[3];
  const double s0 = inv_scale[0], s1 = inv_scale[1], s2 = inv_scale[2], s3 = inv_scale[3];
  const double w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3];
  for (size_t i = 0; i < DPH_BLOCK; i += 8) {
    if (next) {
      DPH_PREFETCH(x0 + DPH_BLOCK + i);
      DPH_PREFETCH(x1 + DPH_BLOCK + i);
      DPH_PREFETCH(x2 + DPH_BLOCK + i);
      DPH_PREFETCH(x3 + DPH_BLOCK + i);
    }
    for (size_t j = 0; j < 8; j++) {
      const double v0 = (x0[i + j] - c0) * s0, v1 = (x1[i + j] - c1) * s1;
      const double v2 = (x2[i + j] - c2) * s2, v3 = (x3[i + j] - c3) * s3;
      z[i + j] = v0;
      z[DPH_BLOCK + i + j] = v1;
      z[2 * DPH_BLOCK + i + j] = v2;
      z[3 * DPH_BLOCK + i + j] = v3;
      eta[i + j] += (v0 * w0 + v1 * w1) + (v2 * w2 + v3 * w3);
    }
  }
}

DPH_KERNEL static void margin_one(const double *x, double center, double inv_scale,
                                  double w, double *restrict z, double *restrict eta) {
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    const double v = (x[i] - center) * inv_scale;
    z[i] = v;
    eta[i] += v * w;
  }
}

/* All columns of x into z, their part of the margins added to eta. */
static void fill_margin(const dph_rows *rows, size_t start, size_t len, const double *w,
                        double *z, double *eta) {
  const int next = !rows->index && start + 2 * DPH_BLOCK <= rows->n;
  double space[4][DPH_BLOCK];
  size_t j = 0;
  for (; j + 4 <= rows->p; j += 4) {
    const double *x[4];
    for (size_t c = 0; c < 4; c++) {
      x[c] = column_view(rows, j + c, start, len, space[c]);
    }
    margin_four(x, rows->center + j, rows->inv_scale + j, w + j, next, z + j * DPH_BLOCK,
                eta);
  }
  for (; j < rows->p; j++) {
    margin_one(column_view(rows, j, start, len, space[0]), rows->center[j],
               rows->inv_scale[j], w[j], z + j * DPH_BLOCK, eta);
  }
}

/* Where the margins start: the intercept, and the offset that is a part of them. */
static void start_margin(const dph_rows *rows, size_t start, size_t len, double intercept,
                         double *eta) {
  double space[DPH_BLOCK];
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    eta[i] = intercept;
  }
  if (rows->offset_in_margin && rows->offset) {
    const double *offset = dph_rows_view(rows, rows->offset, start, len, 0.0, space);
    for (size_t i = 0; i < DPH_BLOCK; i++) {
      eta[i] += offset[i];
    }
  }
}

/* Every row, wherever it stands, sees the same additions in the same order. */
size_t dph_rows_fill_margin(const dph_rows *rows, size_t start, const double *norm,
                            const double *w, double *z, double *y, double *eta,
                            unsigned char *valid) {
  const size_t left = rows->n - start, len = left < DPH_BLOCK ? left : DPH_BLOCK;
  const size_t first = rows->intercept ? 1 : 0, k = rows->p + first;
  double unused[DPH_BLOCK] = {0.0}, space[DPH_BLOCK];
  const double *size = dph_rows_view(rows, norm, start, len, INFINITY, space);
  start_margin(rows, start, len, first ? w[0] : 0.0, eta);
  for (size_t i = 0; first && i < DPH_BLOCK; i++) {
    z[i] = i < len ? 1.0 : 0.0;
  }
  fill_margin(rows, start, len, w + first, z + first * DPH_BLOCK, eta);
  if (rows->y) {
    fill_response(rows, start, len, y, unused);
  }
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    valid[i] = (unsigned char)(size[i] < INFINITY);
    if (!valid[i]) {
      clear_row(z, k, rows->y ? y : NULL, i);
      eta[i] = 0.0;
    }
  }
  return len;
}

DPH_KERNEL static void add_squares(const double *restrict v, double *restrict out) {
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    out[i] += v[i] * v[i];
  }
}

/* Adds the squares of z times a row of the root, whose entries are k apart. */
DPH_KERNEL static void add_product_squares(const double *restrict z, const double *root,
                                           size_t entries, size_t k,
                                           double *restrict out) {
  for (size_t i = 0; i < DPH_BLOCK; i += 8) {
    double s[4] = {0.0, 0.0, 0.0, 0.0}, t[4] = {0.0, 0.0, 0.0, 0.0};
    for (size_t b = 0; b < entries; b++) {
      const double *at = z + b * DPH_BLOCK + i;
      const double r = root[b * k];
      for (size_t j = 0; j < 4; j++) {
        s[j] += r * at[j];
      }
      for (size_t j = 0; j < 4; j++) {
        t[j] += r * at[4 + j];
      }
    }
    for (size_t j = 0; j < 4; j++) {
      out[i + j] += s[j] * s[j];
    }
    for (size_t j = 0; j < 4; j++) {
      out[i + 4 + j] += t[j] * t[j];
    }
  }
}

void dph_block_norm(const double *z, size_t k, const double *root, double *out) {
  memset(out, 0, DPH_BLOCK * sizeof(double));
  for (size_t a = 0; a < k; a++) {
    if (root) {
      add_product_squares(z, root + a, a + 1, k, out);
    } else {
      add_squares(z + a * DPH_BLOCK, out);
    }
  }
  for (size_t i = 0; i < DPH_BLOCK; i++) {
    out[i] = sqrt(out[i]);
  }
}
