/* Gradient descent on the whole data with private gradients.
 *
 * Step t at w:
 *   s = exact sum of clipped gradients (dph_gradient.h), k integers
 *   u = round(L s) + noise            L the preconditioner's root, or identity
 *   w <- w - eta L' u step / n
 * u is what is released: n records, noise of standard deviation 2^bits on each
 * entry. All else is a function of u and of public numbers. The number of steps
 * is fixed beforehand. */
#ifndef SOLVE_PGD_H_INCLUDED
#define SOLVE_PGD_H_INCLUDED

#include "dph_gradient.h"

typedef struct {
  size_t iterations;
  double eta;
  const double *root;      /* k x k lower triangular, multiples of 2^-20; or NULL */
  const int64_t *root_int; /* root * 2^20, or NULL */
  dph_gradient_rule rule;
  dph_noise_law noise;
} dph_pgd;

/* path: k x iterations, the iterates after each step; w: k, changed. */
dph_status solve_pgd(const dph_rows *rows, const double *norm, double *w,
                     const dph_pgd *pgd, dph_rng *rng, const dph_poll *poll,
                     double *path, dph_error *err);

#endif
