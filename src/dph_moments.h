/* The second-moment matrix of clipped, rounded rows: sum of q q' over records.
 *
 * Row i of the standardised design, with the response as its last entry, is
 * scaled to norm at most bound (1 - DPH_NORM_SLACK), divided by step, rounded to
 * integers: ||q|| <= c = bound (1 - slack)/step + sqrt(m)/2, m = k + 1 entries.
 * Products and sums are exact: |q_a q_b| <= c^2 < 2^42, a block of DPH_BLOCK
 * rows stays below 2^50, blocks are added in int64.
 *
 * With weights (and a root L, no response) row i is instead f_i L z_i / step rounded, f_i =
 * min(weight_i, bound (1 - slack) / ||L z_i||), the length being that of the numbers computed,
 * so that nothing hangs on the weight: it may depend on the record in any way. A row that
 * overflows under L adds zero, and so does a weight that is NaN or below 0.
 *
 * Sensitivity (replace one row): ||q q' - p p'||_F <= sqrt(2) c^2, since its
 * square is |q|^4 + |p|^4 - 2 (q'p)^2. Packed upper triangle, column by column;
 * dph_moments_noise() multiplies the off-diagonal entries by 11 and adds noise of
 * standard deviation 2^(bits + 3) there, 2^bits on the diagonal: with weights
 * 1 and (11/8)^2 = 1.890 < 2 the change is still at most sqrt(2) c^2 in units of
 * 2^bits. Off-diagonal results are therefore in units of step^2 / 11. */
#ifndef DPH_MOMENTS_H_INCLUDED
#define DPH_MOMENTS_H_INCLUDED

#include "dph_fixed.h"
#include "dph_gradient.h"

#define DPH_MOMENTS_OFF 11
#define DPH_MOMENTS_OFF_BITS 3

typedef struct {
  double bound; /* + inf: no clipping */
  double step;  /* grid; 0: plain sums into `plain` */
  const double *weight; /* n, or NULL */
  const double *root;   /* k x k lower triangular, column-major; goes with weights */
} dph_moments_rule;

/* norm: n norms with the response (dph_row_norms), + inf for rows that add zero; NULL with
 * weights.
 * exact (or plain): m (m + 1) / 2 entries, m = k + 1 with a response, else k. */
dph_status dph_moments_sum(const dph_rows *rows, const double *norm,
                           const dph_moments_rule *rule, const dph_poll *poll,
                           int64_t *exact, double *plain, dph_error *err);

dph_status dph_moments_noise(dph_rng *rng, dph_noise_law law, size_t m, int64_t *packed,
                             dph_error *err);

#endif
