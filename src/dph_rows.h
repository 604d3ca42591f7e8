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
 * A row that is not in use, or that holds a non-finite number after
 * standardising, is a row of zeros: it adds zero to every sum. Whether that is
 * so depends on that row alone. */
#ifndef DPH_ROWS_H_INCLUDED
#define DPH_ROWS_H_INCLUDED

#include "dph_base.h"

#define DPH_BLOCK 256

typedef struct {
  const double *x; /* n x p, column-major */
  size_t n, p;
  const double *y;      /* n, or NULL */
  const double *offset; /* n, or NULL */
  const int *use;       /* n, 0 = the row adds zero; or NULL */
  const double *center, *inv_scale; /* p each; finite */
  double y_center, y_inv_scale;
  int intercept;
  int offset_in_margin; /* the offset is added to eta, not taken from the response */
} dph_rows;

/* k, the number of columns of the design. */
size_t dph_rows_columns(const dph_rows *rows);

/* Fills z (DPH_BLOCK x k) and y (DPH_BLOCK, if rows->y) with rows start, ... .
 * valid[i] = 0 marks a row that was put to zero. Returns the rows that exist. */
size_t dph_rows_fill(const dph_rows *rows, size_t start, double *z, double *y,
                     unsigned char *valid);

/* The same with the margins eta = z w in one walk, for rows whose norms are known:
 * norm[i] = + inf marks a row that adds zero (norm holds all n). */
size_t dph_rows_fill_margin(const dph_rows *rows, size_t start, const double *norm,
                            const double *w, double *z, double *y, double *eta,
                            unsigned char *valid);

/* out[i] = || root (row i of z) ||, root k x k lower triangular and column-major,
 * or NULL for the identity; + inf where the sum of squares overflows.
 * work: DPH_BLOCK doubles. */
void dph_block_norm(const double *z, size_t k, const double *root, double *work,
                    double *out);

#endif
