/* The source that the solvers read: the rows of a dense matrix, standardised on
 * the fly, in blocks of DPH_BLOCK.
 *
 * Row i of the design is (1, (x_i1 - center_1) inv_scale_1, ...), the leading 1
 * only with an intercept; k = p + intercept columns. The response is
 * (y_i - offset_i - y_center) y_inv_scale, or absent; with offset_in_margin the offset
 * is part of the margin eta instead. Nothing of size n x p is
 * ever allocated: one block of the design lives in `z`, column by column, and a
 * last block is filled up with rows of zeros.
 *
 * A view reads some of the rows, in an order of its own: with `index`, row i is row
 * index[i] of storage and n counts the rows of the view; columns stay `stride` apart.
 * Only the walks of dph_gradient.h know views. So it is with `units`: records are then several
 * rows each (dph_units.h).
 *
 * A row that is not in use, or that holds a non-finite number after
 * standardising, is a row of zeros: it adds zero to every sum. Whether that is
 * so depends on that row alone. */
#ifndef DPH_ROWS_H_INCLUDED
#define DPH_ROWS_H_INCLUDED

#include "dph_base.h"

#define DPH_BLOCK 256

/* Which rows belong to which unit, and how much of them counts: see dph_units.h. */
typedef struct {
  size_t n;         /* units */
  const int *order; /* rows of storage from 0, each at most once */
  const int *start; /* n + 1, rising from 0: where the rows of a unit stand in `order` */
  double most;      /* positive, or + inf */
  double scale;     /* positive */
} dph_units;

typedef struct {
  const double *x; /* stride x p, column-major */
  size_t n, p, stride;
  const int *index;     /* n storage rows from 0, or NULL: all, n = stride */
  const double *y;      /* stride, or NULL */
  const double *offset; /* stride, or NULL */
  const int *use;       /* stride, 0 = the row adds zero; or NULL */
  const double *center, *inv_scale; /* p each; finite */
  double y_center, y_inv_scale;
  int intercept;
  int offset_in_margin; /* the offset is added to eta, not taken from the response */
  int threads;          /* asked for in passes over the rows (dph_threads.h) */
  const dph_units *units; /* or NULL: a row is a record */
} dph_rows;

/* How many records a sum over the rows is one of. */
static inline size_t dph_rows_records(const dph_rows *rows) {
  return rows->units ? rows->units->n : rows->n;
}

/* k, the number of columns of the design. */
size_t dph_rows_columns(const dph_rows *rows);

/* Where row i of the view is stored. */
static inline size_t dph_rows_at(const dph_rows *rows, size_t i) {
  return rows->index ? (size_t)rows->index[i] : i;
}

/* Entries start, ..., start + DPH_BLOCK - 1 of the view of v, of which len exist: in place,
 * or in `space` (DPH_BLOCK), `fill` for those that do not. */
const double *dph_rows_view(const dph_rows *rows, const double *v, size_t start, size_t len,
                            double fill, double *space);

/* Fills z (DPH_BLOCK x k) and y (DPH_BLOCK, if rows->y) with rows start, ... .
 * valid[i] = 0 marks a row that was put to zero. Returns the rows that exist. */
size_t dph_rows_fill(const dph_rows *rows, size_t start, double *z, double *y,
                     unsigned char *valid);

/* The same with the margins eta = z w in one walk, for rows whose norms are known:
 * norm = + inf marks a row that adds zero (one entry per row of storage). */
size_t dph_rows_fill_margin(const dph_rows *rows, size_t start, const double *norm,
                            const double *w, double *z, double *y, double *eta,
                            unsigned char *valid);

/* out[i] = || root (row i of z) ||, root k x k lower triangular and column-major,
 * or NULL for the identity; + inf where the sum of squares overflows. */
void dph_block_norm(const double *z, size_t k, const double *root, double *out);

#endif
